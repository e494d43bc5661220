// Parses the requests of a Gemini batch: a list in the create, or lines of a file. Pure.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { Refusal } from "../exchange.ts";
import { isObject } from "../openai/lines.ts";

export interface GeminiItem {
  /** The client's name for the request. */
  readonly key: string;
  readonly request: JsonObject;
}

/** The items of `inputConfig.requests`. */
export function itemsOf(requests: Json | undefined): GeminiItem[] {
  const list = isObject(requests) ? requests.requests : undefined;
  if (!Array.isArray(list) || list.length === 0) throw invalid("batch.input_config.requests: required");
  return list.map((item, place) => {
    const { request, metadata, ...others } = isObject(item) ? item : {};
    const strange = Object.keys(others)[0];
    if (strange !== undefined) throw invalid(`Invalid JSON payload received. Unknown name "${strange}".`);
    if (!isObject(request)) throw invalid(`batch.input_config.requests[${place}].request: required`);
    const key = isObject(metadata) ? metadata.key : undefined;
    return { key: typeof key === "string" ? key : String(place), request };
  });
}

/** The item of a file's line; null if it is invalid. */
export function itemOfLine(line: string): GeminiItem | null {
  try {
    const { key, request } = JSON.parse(line) as JsonObject;
    return typeof key === "string" && isObject(request) ? { key, request } : null;
  } catch {
    return null;
  }
}

function invalid(message: string): Refusal {
  return new Refusal(400, "INVALID_ARGUMENT", message);
}

// Mistral's checks of a new job and its lines. A malformed call is refused at once. Unreadable
// lines fail the job later, with a message that names no line.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import type { Entry } from "../batch-book.ts";
import { Refusal } from "../exchange.ts";
import { isObject } from "../openai/lines.ts";
import type { Settings } from "../settings.ts";
import type { FakeLineFault } from "../types.ts";

/** Values of ApiEndpoint in @mistralai/mistralai 2.7.0. */
const ENDPOINTS: ReadonlySet<string> = new Set([
  ...["/v1/chat/completions", "/v1/embeddings", "/v1/fim/completions", "/v1/moderations", "/v1/chat/moderations"],
  ...["/v1/ocr", "/v1/classifications", "/v1/chat/classifications", "/v1/conversations", "/v1/audio/transcriptions"],
]);
/** By Mistral's page on batches, larger jobs need a file. */
const MOST_INLINE = 10_000;

export interface JobRequest {
  /** null: the requests are inline. */
  readonly inputFiles: readonly string[] | null;
  readonly requests: readonly Json[];
  readonly endpoint: string;
  readonly model: string | null;
  readonly metadata: JsonObject | null;
  readonly timeoutHours: number;
}

interface Checked {
  readonly entries: readonly Entry[];
  readonly faults: readonly FakeLineFault[];
}

export function readJobRequest(body: Uint8Array): JobRequest {
  const wanted = parse(Buffer.from(body).toString());
  if (!isObject(wanted)) throw invalid("body", "Input should be a JSON object");
  const { input_files: files, requests, endpoint, model = null, metadata = null, timeout_hours: hours = 24 } = wanted;
  if (typeof endpoint !== "string" || !ENDPOINTS.has(endpoint))
    throw invalid("endpoint", "Input should be an endpoint");
  const given = [files, requests].filter((each) => Array.isArray(each) && each.length > 0);
  if (given.length !== 1) throw invalid("input_files", "Expected either input_files or requests");
  const isInline = Array.isArray(requests) && requests.length > 0;
  if (isInline && requests.length > MOST_INLINE) throw invalid("requests", `At most ${MOST_INLINE} inline requests`);
  if (model !== null && typeof model !== "string") throw invalid("model", "Input should be a string");
  if (model === null && wanted.agent_id === undefined) throw invalid("model", "Field required");
  if (!isTexts(metadata)) throw invalid("metadata", "Values should be strings");
  if (!Number.isInteger(hours) || Number(hours) < 1) throw invalid("timeout_hours", "Input should be an integer >= 1");
  return {
    inputFiles: isInline ? null : (files as readonly string[]),
    requests: isInline ? requests : [],
    endpoint,
    model,
    metadata: metadata as JsonObject | null,
    timeoutHours: Number(hours),
  };
}

/** The parsed lines of a file; undefined for a line that is not JSON. */
export function linesOf(content: Uint8Array): (Json | undefined)[] {
  const texts = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString().split("\n");
  return texts.filter((text) => text !== "").map(parse);
}

export function inlineEntries(wanted: JobRequest, settings: Settings): Checked {
  return entriesOf(wanted.requests, wanted, settings);
}

export function entriesOf(
  lines: readonly (Json | undefined)[],
  { endpoint, model }: JobRequest,
  settings: Settings,
): Checked {
  const faults: FakeLineFault[] = [];
  const seen = new Set<string>();
  const entries = lines.flatMap((line): Entry[] => {
    const message = lineFault(line, model, seen);
    if (message !== null) faults.push({ code: "invalid_line", message });
    if (message !== null || !isObject(line)) return [];
    const customId = line.custom_id as string;
    const body: JsonObject = { model: model ?? "", ...(line.body as JsonObject) };
    return [
      { customId, endpoint, identity: settings.identify({ customId, endpoint, body }), body: JSON.stringify(body) },
    ];
  });
  const { maxLines } = settings.limits;
  if (lines.length > maxLines)
    faults.push({ code: "too_many", message: `A batch holds at most ${maxLines} requests.` });
  return { entries, faults };
}

function lineFault(line: Json | undefined, model: string | null, seen: Set<string>): string | null {
  if (!isObject(line)) return "A line is not a JSON object.";
  const extra = Object.keys(line).find((name) => name !== "custom_id" && name !== "body");
  if (extra !== undefined) return `A line has the unknown field ${extra}.`;
  const { custom_id: customId, body } = line;
  if (typeof customId !== "string" || !isObject(body)) return "A line has no custom_id or no body.";
  if (seen.has(customId)) return "A custom_id is there twice.";
  seen.add(customId);
  if (model !== null && body.model !== undefined && body.model !== model) return "A body names another model.";
  return null;
}

function isTexts(metadata: Json): boolean {
  return metadata === null || (isObject(metadata) && Object.values(metadata).every((each) => typeof each === "string"));
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function invalid(name: string, message: string): Refusal {
  return new Refusal(422, "", `body.${name}: ${message}`);
}

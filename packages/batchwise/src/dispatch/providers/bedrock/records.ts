// Makes the `modelInput` of a request's record, by endpoint and model family. Pure.

import type { BatchName } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { refusalsOf } from "../shapes/refusals.ts";
import { bedrockCapabilities, CONVERSE, INVOKE, MESSAGES } from "./capabilities.ts";
import { toNativeInput } from "./claude.ts";
import { familyOf } from "./families.ts";
import type { BedrockFamily, Family } from "./family.ts";

const refuse = refusalsOf("Bedrock");

interface Choices {
  readonly family?: BedrockFamily;
  readonly defaultMaxTokens: number;
}

/** Throws INVALID_REQUEST, naming the path, for an unsupported field. */
export function toModelInput(endpoint: Endpoint, body: JsonObject, choices: Choices): JsonObject {
  if (!bedrockCapabilities.endpoints.includes(endpoint)) throw refuse.unsupported(`the endpoint "${endpoint}"`);
  if (isNative(endpoint)) {
    if (body.stream === true) throw refuse.invalid("`stream` is not possible in a batch");
    // The job names the model; a record must not.
    const { model: _model, ...input } = body;
    return endpoint === MESSAGES ? toNativeInput(body) : input;
  }
  const family = familyOf(String(body.model), choices.family ?? null);
  if (family.endpoint !== endpoint) {
    throw refuse.invalid(`the model "${String(body.model)}" answers ${family.endpoint}, not ${endpoint}`);
  }
  return family.toInput(body, choices.defaultMaxTokens);
}

/** The family that converts the batch's results; null if they are not converted. */
export function answering({ endpoint, model }: BatchName, chosen: BedrockFamily | null): Family | null {
  if (isNative(endpoint)) return null;
  try {
    return familyOf(model, chosen);
  } catch (error) {
    // The option `family` was set when the batch was sent.
    const message = `The family of the model "${model}" is no longer known: give the option \`family\` again.`;
    throw new DispatchError("RESULTS_UNREADABLE", message, error);
  }
}

function isNative(endpoint: Endpoint): boolean {
  return endpoint === INVOKE || endpoint === CONVERSE || endpoint === MESSAGES;
}

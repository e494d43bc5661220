// What the options of an account add to each batch that it creates.

import {
  anArray,
  check,
  invalidOption,
  objectWith,
  type Rule,
  refuseUnknown,
} from "../../../core/contract/validate.ts";
import type { JsonObject } from "../../contract/types.ts";
import { checkAddress } from "../../format/address.ts";

const A_PRIORITY: Rule = { expected: "a whole number", type: "number", test: Number.isSafeInteger };

/** As Gemini's `webhookConfig`. */
export interface GeminiWebhookConfig {
  /** At least one https or http address. */
  readonly uris: readonly string[];
  /** JSON that comes back with each event. */
  readonly userMetadata?: JsonObject;
}

/** The part of the account's options that goes with each batch. */
export interface BatchExtras {
  /**
   * Where Gemini sends the events of this account's batches, in place of the webhooks of the
   * project; each is signed with a token. `providerWebhook({ keySet })` takes them. Default: none.
   */
  readonly webhookConfig?: GeminiWebhookConfig;
  /**
   * Priority of its batches in the project: a whole number, higher goes first. Default: Gemini's.
   */
  readonly priority?: number;
}

/** The fields that the options add to each batch. */
export function extrasOf({ webhookConfig, priority }: BatchExtras): JsonObject {
  if (priority !== undefined) check("priority", A_PRIORITY, priority);
  if (webhookConfig !== undefined) checkWebhook(webhookConfig);
  return {
    ...(webhookConfig === undefined ? {} : { webhookConfig: structuredClone(webhookConfig) as unknown as JsonObject }),
    // An int64 of protocol buffers, whose JSON is a text.
    ...(priority === undefined ? {} : { priority: String(priority) }),
  };
}

function checkWebhook(config: GeminiWebhookConfig): void {
  check("webhookConfig", objectWith(), config);
  refuseUnknown(config, ["uris", "userMetadata"], "webhookConfig.");
  check("webhookConfig.uris", anArray, config.uris);
  if (!Array.isArray(config.uris) || config.uris.length === 0) {
    throw invalidOption(TypeError, "Expected `webhookConfig.uris` to be an array of at least one address");
  }
  for (const uri of config.uris) checkAddress("webhookConfig.uris", uri, "Gemini signs its events");
  if (config.userMetadata !== undefined) check("webhookConfig.userMetadata", objectWith(), config.userMetadata);
}

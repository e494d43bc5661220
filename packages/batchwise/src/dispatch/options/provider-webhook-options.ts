// Options of providerWebhook, checked once.

import { checkIsObject, invalidOption, refuseUnknown } from "../../core/contract/validate.ts";

/** Options of `providerWebhook`. */
export interface ProviderWebhookOptions {
  /**
   * Secrets with which providers sign their events, as they show them (`whsec_…`). Give several for
   * several providers, or for the old and new secret of one. At least 16 characters each.
   */
  readonly secrets: string | readonly string[];
}

export interface ProviderWebhookPlan {
  readonly secrets: readonly string[];
}

const LEAST = 16;
const PREFIX = "whsec_";

function isSecret(value: unknown): value is string {
  if (typeof value !== "string" || value.length < LEAST) return false;
  return !value.startsWith(PREFIX) || isBase64(value.slice(PREFIX.length));
}

function isBase64(text: string): boolean {
  return /^[\w+/-]+={0,2}$/.test(text) && Buffer.from(text, "base64").length >= LEAST;
}

/** Errors describe a wrong secret without quoting it. */
export function providerWebhookOptions(given: ProviderWebhookOptions): ProviderWebhookPlan {
  checkIsObject("options", given);
  refuseUnknown(given, ["secrets"], "", { "secret webhookSecret key": "it is `secrets` here: one or several" });
  const secrets = typeof given.secrets === "string" ? [given.secrets] : given.secrets;
  if (Array.isArray(secrets) && secrets.length > 0 && secrets.every(isSecret)) return { secrets };
  const wanted = `Expected \`secrets\` to be one or several secrets of at least ${LEAST} characters`;
  throw invalidOption(TypeError, `${wanted}, in base64 after \`${PREFIX}\`: one is missing, shorter or no base64`);
}

// The options of providerWebhook, checked once.

import { checkIsObject, expected, type Rule, refuseUnknown } from "../../core/contract/validate.ts";

/** Options of `providerWebhook`. */
export interface ProviderWebhookOptions {
  /**
   * The secrets with which providers sign their events, as they show them (`whsec_…`). Several are for
   * several providers, or for an old and a new one of the same. At least 16 characters each.
   */
  readonly secrets: string | readonly string[];
}

export interface ProviderWebhookPlan {
  readonly secrets: readonly string[];
}

const LEAST = 16;
const aSecret: Rule = {
  expected: `a secret of at least ${LEAST} characters`,
  type: "string",
  test: (value: string) => value.length >= LEAST,
};

/** What is wrong with a secret is said without quoting it. */
export function providerWebhookOptions(given: ProviderWebhookOptions): ProviderWebhookPlan {
  checkIsObject("options", given);
  refuseUnknown(given, ["secrets"], "", { "secret webhookSecret key": "it is `secrets` here: one or several" });
  const secrets = typeof given.secrets === "string" ? [given.secrets] : given.secrets;
  if (!Array.isArray(secrets) || secrets.length === 0) {
    throw expected(
      "secrets",
      { expected: "a secret or a list of secrets", type: "object", test: () => false },
      undefined,
    );
  }
  for (const secret of secrets) {
    if (typeof secret !== "string" || secret.length < LEAST) throw expected("secrets", aSecret, undefined);
  }
  return { secrets };
}

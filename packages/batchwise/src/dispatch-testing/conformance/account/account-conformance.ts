// The whole account suite as test cases for any runner.

import type { AccountCase } from "./case.ts";
import { createCases } from "./creates.ts";
import { resultCases } from "./results.ts";
import { sendingCases } from "./sending.ts";

export type { AccountCase, AccountFactory, AccountFake, AccountRig } from "./case.ts";

/**
 * The cases that every `Account` must pass. Each opens an account on a fake provider of its own and
 * throws if the account breaks the contract. The fake's clock begins on 1 January 2026, UTC.
 *
 * @example
 * ```ts
 * import { openaiAccount } from "batchwise/dispatch/openai";
 * import { type AccountFactory, accountConformance, fakeProvider } from "batchwise/dispatch/testing";
 * import { virtualClock } from "batchwise/testing";
 * import OpenAI from "openai";
 *
 * const open: AccountFactory = async (options) => {
 *   const clock = virtualClock(Date.UTC(2026, 0, 1));
 *   const fake = fakeProvider({ clock, ...options });
 *   const client = new OpenAI({ apiKey: "any", baseURL: "http://fake.test/v1", fetch: fake.fetch });
 *   return { fake, clock, account: openaiAccount({ client }) };
 * };
 * for (const { name, run } of accountConformance) {
 *   await run(open).catch((cause) => Promise.reject(new Error(name, { cause })));
 * }
 * ```
 */
export const accountConformance: readonly AccountCase[] = [...sendingCases, ...createCases, ...resultCases];

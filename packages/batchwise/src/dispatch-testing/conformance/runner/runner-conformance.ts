// The whole suite for accounts that run lines themselves (`Account.execute`), as test cases for any
// runner.

import type { RunnerCase } from "./case.ts";
import { runnerCourseCases } from "./course.ts";
import { runnerResultCases } from "./results.ts";

export type {
  RunnerAnswer,
  RunnerAsked,
  RunnerCase,
  RunnerFactory,
  RunnerOptions,
  RunnerRig,
} from "./case.ts";

/**
 * The cases that every `Account` with `execute` must pass, in place of `accountConformance`, which
 * tests accounts with a provider. Each case opens an account whose calls it answers, and throws if
 * the account breaks the contract. The cases run in real time.
 *
 * @example
 * ```ts
 * import { type LocalHandler, localAccount } from "batchwise/dispatch/local";
 * import { type RunnerFactory, runnerConformance } from "batchwise/dispatch/testing";
 *
 * const open: RunnerFactory = async ({ answer, ...options }) => {
 *   const handler: LocalHandler = async (body, { endpoint }) => {
 *     const said = await answer({ endpoint, body });
 *     if (said === "lost") throw new Error("The connection broke.");
 *     if (said.status < 400) return said.body;
 *     const { error } = said.body as unknown as { error: { code: string; message: string } };
 *     throw Object.assign(new Error(error.message), { code: error.code, status: said.status });
 *   };
 *   return { account: localAccount({ handler, ...options }) };
 * };
 * for (const { name, run } of runnerConformance) {
 *   await run(open).catch((cause) => Promise.reject(new Error(name, { cause })));
 * }
 * ```
 */
export const runnerConformance: readonly RunnerCase[] = [...runnerResultCases, ...runnerCourseCases];

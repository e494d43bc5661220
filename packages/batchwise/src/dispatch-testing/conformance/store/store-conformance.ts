// The whole store suite, which checks the promises of store.ts, as test cases for any runner.

import { amendCases } from "./amend/amend.ts";
import { correctCases } from "./amend/correct.ts";
import { hastenCases } from "./amend/hasten.ts";
import { moveCases } from "./amend/move.ts";
import type { StoreCase } from "./case.ts";
import { claimOrderCases } from "./claim-order.ts";
import { deliveryCases } from "./delivery.ts";
import { enqueueCases } from "./enqueue.ts";
import { findCases } from "./find.ts";
import { holdCases } from "./hold.ts";
import { lastingCases } from "./lasting.ts";
import { marksCases } from "./marks.ts";
import { payerCases } from "./payers.ts";
import { probeCases } from "./probe.ts";
import { pruneCases } from "./prune.ts";
import { sealCases } from "./seal.ts";
import { settleCases } from "./settle.ts";
import { textCases } from "./texts.ts";
import { tombstoneCases } from "./tombstones.ts";
import { usageCases } from "./usage.ts";

export type { StoreCase, StoreFactory } from "./case.ts";

/**
 * The cases that every `Store` must pass. Each opens its own data and throws if the store breaks
 * the contract.
 *
 * @example
 * ```ts
 * import { memoryStore } from "batchwise/dispatch";
 * import { storeConformance } from "batchwise/dispatch/testing";
 * for (const { name, durable, run } of storeConformance) {
 *   const store = memoryStore();
 *   if (!durable) await run(async () => store).catch((cause) => Promise.reject(new Error(name, { cause })));
 * }
 * ```
 */
export const storeConformance: readonly StoreCase[] = [
  ...enqueueCases,
  ...claimOrderCases,
  ...sealCases,
  ...holdCases,
  ...settleCases,
  ...amendCases,
  ...correctCases,
  ...moveCases,
  ...deliveryCases,
  ...hastenCases,
  ...probeCases,
  ...findCases,
  ...usageCases,
  ...textCases,
  ...marksCases,
  ...payerCases,
  ...pruneCases,
  ...tombstoneCases,
  ...lastingCases,
];

// Deliberate faults in the dispatcher, most of them its behaviour at some time. Each must break a
// promise that the simulation of test/dispatch checks.

import type { Fault } from "./fault.ts";

export const dispatcherFaults: readonly Fault[] = [
  {
    name: "blames an outage on the batch that meets it",
    file: "dispatch/batches/submit/whole-failure.ts",
    find: "return evidence.laneTakesOthers || mustShrink;",
    replace: "return evidence.laneTakesOthers || mustShrink || batch.wholeFailures > 0;",
  },
  {
    name: "ends a single request that meets an outage",
    file: "dispatch/batches/submit/whole-failure.ts",
    find: "if (batch.requests === 1 && evidence.laneTakesOthers)",
    replace: "if (batch.requests === 1)",
  },
  {
    name: "takes what a short download does not show for missing",
    file: "dispatch/batches/collect/unread-results.ts",
    find: "if (remaining === 0 || due === null || lines >= due)",
    replace: "if (remaining >= 0 || due === null || lines >= due)",
  },
  {
    name: "gives up what a callback has not taken in twelve tries",
    file: "dispatch/requests/outcomes/delivery-policy.ts",
    find: 'if (sink === "callback") return',
    replace: 'if (sink === "callback" && attempt < WEBHOOK_TRIES) return',
  },
  {
    name: "believes a wall clock that steps",
    file: "dispatch/runtime/wall-clock.ts",
    find: "if (Math.abs(shown - offset) <= STEP_MS)",
    replace: "if (Math.abs(shown - offset) <= Number.POSITIVE_INFINITY)",
  },
  {
    name: "sends a request whose deadline has passed",
    file: "dispatch/batches/submit/expire-members.ts",
    find: "if (deadlineAt === null || deadlineAt > now) return goesBack",
    replace: "if (deadlineAt !== now - 0.5) return goesBack",
  },
  {
    name: "lets a tail under the provider's minimum wait for ever",
    file: "dispatch/batches/seal/tails.ts",
    find: 'await runtime.store.amend({ kind: "fail", ids: [id], ...failure }, runtime.sinks, runtime.clock.now());',
    replace: "await Promise.resolve([failure, id]);",
  },
  {
    name: "sends a create again whose answer was lost",
    file: "dispatch/batches/submit/after-failure.ts",
    find: 'return plan("unknown", nextLookAt({ ...batch, unknownSince: now }, account, now), changes);',
    replace: 'return plan("sealed", now, changes);',
  },
  {
    name: "sends although its lease may run out meanwhile",
    file: "dispatch/runtime/lease/lease.ts",
    find: "return !this.#isOver && maySend(this.#spanMs, this.#heldMs(), timeoutMs);",
    replace: "return !this.#isOver || maySend(this.#spanMs, this.#heldMs(), timeoutMs);",
  },
  {
    name: "finishes a create that it slept in",
    file: "dispatch/batches/submit/submit.ts",
    find: "if (runtime.clock.monotonic() > until) throw",
    replace: "if (runtime.clock.monotonic() > until + timeoutMs * 1_000) throw",
  },
  {
    name: "writes under a fence that another process has taken over",
    file: "dispatch/stores/memory/batches.ts",
    find: "return batch?.fence === fence ? batch : undefined;",
    replace: "return fence === -1 ? undefined : batch;",
  },
  {
    name: "sends what was closed before its account was paused",
    file: "dispatch/batches/submit/before-submit.ts",
    find: "return pauses.accounts.has(account) || isLanePaused(pauses, lane);",
    replace: "return account === lane || isLanePaused(pauses, lane);",
  },
  {
    name: "adopts whatever an operator names, unverified",
    file: "dispatch/operate/named-batch.ts",
    find: 'return { kind: "fits", verified: false };',
    replace: 'return { kind: "fits", verified: seen !== null };',
  },
  {
    name: "lets a batch that its account refuses keep what a fallback account would take",
    file: "dispatch/batches/submit/move-urgent.ts",
    find: "if (rescued === 0 || batch.deadlineAt >= lateBefore) return false;",
    replace: "if (rescued === 0 || batch.deadlineAt >= lateBefore - Number.MAX_SAFE_INTEGER) return false;",
  },
  {
    name: "fails a tail while the fallback account that would take it is away",
    file: "dispatch/batches/seal/lane-closer.ts",
    find: "const accounts = [...serving.first, ...serving.second];",
    replace: "const accounts = serving.first;",
  },
  {
    name: "leaves waiting requests to an account that is paused until their deadlines",
    file: "dispatch/batches/seal/near-deadlines.ts",
    find: 'if (!isUnknown) return { kind: "move", before: lateBefore, most };',
    replace: "if (!isUnknown) return NOTHING;",
  },
];

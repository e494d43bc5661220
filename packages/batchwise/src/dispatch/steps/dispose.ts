// Settles the members of a batch that gets no results, as its disposal says: back to the lane, in two groups, or failed
// with the provider's words. The decision depends only on the member's place, so an interrupted disposal can continue.

import { OUTCOME_CODES } from "../contract/errors.ts";
import type { Settlement } from "../contract/outcome-rows.ts";
import type { BatchRow } from "../contract/rows.ts";
import type { OutcomeError } from "../contract/types.ts";
import { canaryGroup, restGroup, splitGroup } from "../decide/plan.ts";
import { laneName, parseLane } from "../format/encode.ts";
import { type Disposal, errorEnding, parseDisposal } from "../format/payload.ts";
import type { Lease } from "../runtime/lease.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { eachOpen, leaveOpen } from "./collect.ts";
import { maySplitAt } from "./split-budget.ts";

const CHUNK = 10_000;
/** Halves wait this long for the rest of them, so that each is sealed as one. */
const GATHER_MS = 1_000;
/** The rest of a refused batch waits this long for what becomes of the one that was sent alone. */
const REST_MS = 300_000;

export async function dispose(runtime: Runtime, lease: Lease): Promise<void> {
  const { batch } = lease;
  const disposal = parseDisposal(batch.disposal as string);
  if (disposal.kind === "split") {
    const nextAt = await maySplitAt(runtime, lease.account);
    if (nextAt > runtime.clock.now()) {
      await lease.end({ nextAt });
      return;
    }
  }
  const items: Settlement[] = [];
  const decide = disposalOf(batch, disposal, runtime.clock.now());
  await eachOpen(runtime, lease, ({ ord }) => {
    items.push(decide(ord));
  });
  for (let from = 0; from < items.length; from += CHUNK) await lease.settle(items.slice(from, from + CHUNK));
  tellSplit(runtime, batch, disposal);
  await leaveOpen(lease);
}

function tellSplit({ events }: Runtime, { key: batch, account, requests }: BatchRow, disposal: Disposal): void {
  if (disposal.kind !== "split" && disposal.kind !== "canary") return;
  const { kind, error } = disposal;
  events.emit("split", () => ({
    ...{ account, batch, requests, code: error.code },
    kind: kind === "split" ? "halves" : "canary",
  }));
}

/** All members are cancelled and nothing was sent: requeues them, and the store ends each as cancelled. */
export async function drop(lease: Lease): Promise<void> {
  const disposal: Disposal = { kind: "requeue", code: OUTCOME_CODES.cancelled };
  await lease.write({ state: "collecting", disposal: JSON.stringify(disposal) });
}

/** The decision about the member in each place. Pure. */
export function disposalOf(batch: BatchRow, disposal: Disposal, now: number): (ord: number) => Settlement {
  // They have waited once already, and come back together.
  const back = { kind: "requeue", charged: false, notBefore: 0, lane: batch.lane } as const;
  switch (disposal.kind) {
    case "requeue":
      return (ord) => ({ ...back, ord, code: disposal.code });
    case "split":
      return (ord) => {
        const lane = laneName({ ...parseLane(batch.lane), group: splitGroup(batch, ord) });
        return { ...back, ord, code: disposal.error.code, lane, notBefore: now + GATHER_MS };
      };
    case "canary":
      return (ord) => {
        const [group, notBefore] = ord === 0 ? [canaryGroup(batch), 0] : [restGroup(batch), now + REST_MS];
        return {
          ...back,
          ord,
          code: disposal.error.code,
          lane: laneName({ ...parseLane(batch.lane), group }),
          notBefore,
        };
      };
    case "refuse":
      return (ord) => refused(ord, disposal.error);
    case "end": {
      const end = errorEnding(disposal.error);
      return (ord) => ({ ord, kind: "final", status: "cancelled", ...end, charged: false });
    }
    case "faults": {
      const faults = new Map(disposal.lines.map((fault) => [fault.line - 1, fault]));
      return (ord) => {
        const fault = faults.get(ord);
        return fault === undefined ? { ...back, ord, code: "batch_refused" } : refused(ord, fault);
      };
    }
  }
}

function refused(ord: number, { code, message }: OutcomeError): Settlement {
  return { ord, kind: "final", status: "failed", ...errorEnding({ code, message }), charged: true };
}

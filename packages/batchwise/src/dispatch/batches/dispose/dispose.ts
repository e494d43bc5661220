// Settles the members of a batch without results, as its disposal says: back to the lane, in two
// groups, or failed with the provider's message. The decision depends only on stored data and the
// member's place, so an interrupted disposal can continue.

import { servingOf } from "../../accounts/rank-accounts.ts";
import { OUTCOME_CODES } from "../../contract/errors.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import { laneName, parseLane, urgentLane } from "../../format/encode.ts";
import { type Disposal, errorEnding, parseDisposal } from "../../format/payload.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { openMembers } from "../../runtime/store/pages.ts";
import { takeApart } from "../apply-plan.ts";
import { leaveOpen } from "../collect/collect.ts";
import { partGroup } from "../parts.ts";
import { DEADLINE_LEAD_MS } from "../seal/thresholds.ts";
import { maySplitAt } from "./split-budget.ts";

/** Halves wait this long for their other members, in ms, so that each is sealed as one. */
const GATHER_MS = 1_000;
/** The rest of a refused batch waits this long for the result of its canary, in ms. */
const REST_MS = 300_000;
/** The two parts of a divided batch, and how long their members wait. */
const PARTS = {
  split: [
    { role: "first", waitMs: GATHER_MS },
    { role: "second", waitMs: GATHER_MS },
  ],
  canary: [
    { role: "canary", waitMs: 0 },
    { role: "rest", waitMs: REST_MS },
  ],
} as const;

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
  const members: { readonly ord: number; readonly deadlineAt: number | null }[] = [];
  for await (const page of openMembers(runtime.store, batch.key)) {
    members.push(...page.map(({ ord, deadlineAt }) => ({ ord, deadlineAt })));
  }
  const places = members.map(({ ord }) => ord);
  const decide = disposalOf(batch, await divided(lease, disposal, places), runtime.clock.now());
  const hasFallback = servingOf(runtime.accounts, parseLane(batch.lane)).second.length > 0;
  const items = members.map(({ ord, deadlineAt }) => (hasFallback ? inTime(decide(ord), deadlineAt) : decide(ord)));
  await lease.settle(items);
  tellSplit(runtime, batch, disposal);
  await leaveOpen(lease);
}

/** A disposal that says how present members are divided. */
type Settled = Exclude<Disposal, Halved> | (Halved & { readonly below: number });
type Halved = Extract<Disposal, { readonly kind: "split" | "canary" }>;

/** Divides the present members: others may have left before. */
async function divided(lease: Lease, disposal: Disposal, places: readonly number[]): Promise<Settled> {
  if (disposal.kind !== "split" && disposal.kind !== "canary") return disposal;
  const { below } = disposal;
  if (below !== undefined) return { ...disposal, below };
  const first = disposal.kind === "canary" ? 1 : Math.ceil(places.length / 2);
  const written = { ...disposal, below: (places[first - 1] ?? 0) + 1 };
  await lease.write({ disposal: JSON.stringify(written) });
  return written;
}

function tellSplit({ events }: Runtime, { key: batch, account, requests }: BatchRow, disposal: Disposal): void {
  if (disposal.kind !== "split" && disposal.kind !== "canary") return;
  const { kind, error } = disposal;
  events.emit("split", () => ({
    ...{ account, batch, requests, code: error.code },
    kind: kind === "split" ? "halves" : "canary",
  }));
}

/**
 * All members are cancelled and nothing was sent: requeues them, and the store ends each as
 * cancelled.
 */
export async function drop(lease: Lease): Promise<void> {
  await takeApart(lease, { kind: "requeue", code: OUTCOME_CODES.cancelled });
}

/** The decision about the member in each place. Pure. */
export function disposalOf(batch: BatchRow, disposal: Settled, now: number): (ord: number) => Settlement {
  // They have waited once already, and return together.
  const back = { kind: "requeue", charged: false, notBefore: 0, lane: batch.lane } as const;
  switch (disposal.kind) {
    case "requeue":
      return (ord) => ({ ...back, ord, code: disposal.code });
    case "split":
    case "canary":
      return (ord) => {
        const { role, waitMs } = PARTS[disposal.kind][ord < disposal.below ? 0 : 1];
        const lane = laneName({ ...parseLane(batch.lane), group: partGroup(batch, role) });
        return { ...back, ord, code: disposal.error.code, lane, notBefore: waitMs === 0 ? 0 : now + waitMs };
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

/** A request that would wait past its deadline goes at once to an account for urgent requests. */
export function inTime(item: Settlement, deadlineAt: number | null): Settlement {
  if (item.kind !== "requeue" || deadlineAt === null || item.notBefore < deadlineAt - DEADLINE_LEAD_MS) return item;
  return { ...item, notBefore: 0, lane: urgentLane(parseLane(item.lane)) };
}

function refused(ord: number, { code, message }: OutcomeError): Settlement {
  return { ord, kind: "final", status: "failed", ...errorEnding({ code, message }), charged: true };
}

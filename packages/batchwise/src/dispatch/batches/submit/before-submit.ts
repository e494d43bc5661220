// Decides whether a batch may be sent now, waits, or gives its requests back. Pure.
// batches/submit/gate.ts writes the answer.

import { healthOf, isKeptBack } from "../../accounts/lane-health.ts";
import { isProbe, maySendAt, type Outage, outageOn, pauseCode, withProbe } from "../../accounts/outage.ts";
import { isLanePaused, type Pauses } from "../../accounts/pauses.ts";
import type { LedgerRow } from "../../contract/store/ledger-rows.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import { parseLane } from "../../format/encode.ts";
import { UNRESOLVED } from "../life-cycle.ts";
import { partGroup } from "../parts.ts";

/** Maximum delay until other processes see a resume, in ms. */
const LOOK_AGAIN_MS = 60_000;

export interface SubmitView {
  readonly batch: BatchRow;
  readonly pauses: Pauses;
  /** The ledger of the batch's account. */
  readonly ledger: LedgerRow | undefined;
  /** The create carries an idempotency token. */
  readonly hasToken: boolean;
  /** True if another account is free for the batch's requests. */
  readonly mayMove: () => boolean;
  readonly now: number;
}

export type Gate =
  /** `outage` is written first: other batches of the account then wait for this one. */
  | { readonly kind: "open"; readonly outage: Outage | null }
  /** `isUnmade`: no create of the batch has happened, so others need not wait for it. */
  | { readonly kind: "wait"; readonly by: "operator" | "account"; readonly until: number; readonly isUnmade: boolean }
  /** The requests return to their lane. */
  | { readonly kind: "requeue"; readonly code: string }
  /**
   * One request is sent as a canary, to find out whether the account accepts it; the others follow.
   */
  | { readonly kind: "canary"; readonly outage: Outage; readonly error: OutcomeError };

export function beforeSubmit(view: SubmitView): Gate {
  const { batch, pauses, ledger, now } = view;
  if (isHeld(pauses, batch)) return whileHeld(view);
  const health = healthOf(pauses.healths, { ...parseLane(batch.lane), account: batch.account });
  if (isUnsent(batch) && isKeptBack(health, batch.key, now)) return { kind: "requeue", code: "lane_paused" };
  const until = maySendAt(batch, ledger, now);
  if (until <= now) return duringOutage(batch, outageOn(ledger, now), now);
  if (isUnsent(batch) && view.mayMove()) return { kind: "requeue", code: pauseCode(ledger) };
  return { kind: "wait", by: "account", until, isUnmade: false };
}

/** True while an operator has paused the batch's account or lane. */
export function isHeld(pauses: Pauses, { account, lane }: Pick<BatchRow, "account" | "lane">): boolean {
  return pauses.accounts.has(account) || isLanePaused(pauses, lane);
}

function whileHeld({ batch, pauses, hasToken, mayMove, now }: SubmitView): Gate {
  if (!isLanePaused(pauses, batch.lane) && isUnsent(batch) && mayMove()) {
    return { kind: "requeue", code: "account_paused" };
  }
  const isUnmade = UNRESOLVED.includes(batch.state) && !hasToken;
  return { kind: "wait", by: "operator", until: now + LOOK_AGAIN_MS, isUnmade };
}

/**
 * During an outage of its account, the batch that may go becomes the probe, and the others wait for
 * it. A batch of several requests sends one of them as a canary instead.
 */
function duringOutage(batch: BatchRow, outage: Outage | null, now: number): Gate {
  if (outage === null || isProbe(batch, outage)) return { kind: "open", outage: null };
  const goesAlone = batch.requests > 1 && isUnsent(batch);
  const held = withProbe(outage, now, outage.code, goesAlone ? partGroup(batch, "canary") : batch.key, now);
  if (!goesAlone) return { kind: "open", outage: held };
  return { kind: "canary", outage: held, error: { code: outage.code, message: "The account refused other batches." } };
}

/** True if no create of the batch can be under way. */
function isUnsent({ state, unknownSince }: BatchRow): boolean {
  return (state === "sealed" || state === "waiting_capacity") && unknownSince === null;
}

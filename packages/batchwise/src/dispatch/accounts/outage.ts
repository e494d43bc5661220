// An account's outage, stored in its ledger: the account refuses batches that are not to blame.
// After each pause one batch, the probe, is sent; the others wait for its result, at most PROBE_MS.
// A refused key ends the outage; other pauses do not change it. Pure.

import { UNRESOLVED } from "../batches/life-cycle.ts";
import type { LedgerRow } from "../contract/store/ledger-rows.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import { parseLane } from "../format/encode.ts";
import { storedCode } from "../format/stored-code.ts";
import { backoff } from "../runtime/backoff.ts";

const MINUTE = 60_000;
const FIRST_PAUSE_MS = 5 * MINUTE;
const LONGEST_PAUSE_MS = 60 * MINUTE;
/** How long the others wait for the result of the probe. */
const PROBE_MS = 10 * MINUTE;
/** An outage without a refusal for this long is ignored. */
const FORGOTTEN_MS = 24 * 60 * MINUTE;

export interface Outage {
  /** The provider's word for it. */
  readonly code: string;
  readonly since: number;
  /** Pauses so far. */
  readonly pauses: number;
  /**
   * The key of the batch that is sent first, or the group of its canary; null: the first batch that
   * is due.
   */
  readonly probe: string | null;
  /** No other batch is sent before. */
  readonly holdUntil: number;
}

type Place = Pick<BatchRow, "key" | "lane" | "state">;

/** The outage as text, for the ledger. */
export function outageText(outage: Outage): string {
  return JSON.stringify({ ...outage, code: storedCode(outage.code) });
}

/** The outage on an account's ledger; null for none, or one that is long past. */
export function outageOn(ledger: Pick<LedgerRow, "outage"> | null | undefined, now: number): Outage | null {
  const text = ledger?.outage ?? null;
  if (text === null) return null;
  const outage = JSON.parse(text) as Outage;
  return outage.holdUntil + FORGOTTEN_MS <= now ? null : outage;
}

/**
 * True while the account is paused because its key, its money or its address was refused, or it
 * cannot be reached. Limits that are used up count strikes, and the pause of an outage ends before
 * its hold.
 */
export function isClosedByAnswer(ledger: LedgerRow | null | undefined, now: number): boolean {
  if (ledger === null || ledger === undefined) return false;
  const { blockedUntil, strikes } = ledger;
  return blockedUntil > now && strikes === 0 && blockedUntil > (outageOn(ledger, now)?.holdUntil ?? 0);
}

/** Why the account is paused, in one word for people. */
export function pauseCode(ledger: Pick<LedgerRow, "note"> | undefined): string {
  return ledger?.note ?? "account_paused";
}

/**
 * The time at which the batch may be sent to its account: now or earlier if nothing holds it. A
 * batch whose create is unresolved is never held, because without tags the others wait for it.
 */
export function maySendAt(batch: Place, account: LedgerRow | undefined, now: number): number {
  const pausedUntil = account?.blockedUntil ?? 0;
  const outage = outageOn(account, now);
  const isFree = outage === null || UNRESOLVED.includes(batch.state) || isProbe(batch, outage);
  return isFree ? pausedUntil : Math.max(pausedUntil, outage.holdUntil);
}

export function isProbe(batch: Place, { probe }: Outage): boolean {
  return probe !== null && (probe === batch.key || probe === parseLane(batch.lane).group);
}

/** The state while one request is sent as a probe. */
export function withProbe(outage: Outage | null, since: number, code: string, probe: string, now: number): Outage {
  const holdUntil = now + PROBE_MS;
  return { code, since: outage?.since ?? since, pauses: outage?.pauses ?? 0, probe, holdUntil };
}

export interface Pause {
  readonly outage: Outage;
  readonly pausedUntil: number;
  /** When the batch that was refused is sent again. */
  readonly nextAt: number;
}

/**
 * After the probe was refused too: the next pause, longer than the last. The probe may be at fault
 * itself, so at the end of every second pause another batch has its turn.
 */
export function withPause(outage: Outage | null, since: number, code: string, batch: Place, now: number): Pause {
  const pauses = (outage?.pauses ?? 0) + 1;
  const pausedUntil = now + backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, pauses);
  const next = { code, since: outage?.since ?? since, pauses };
  const later = pausedUntil + PROBE_MS;
  if (pauses % 2 === 0) {
    return { outage: { ...next, probe: null, holdUntil: pausedUntil }, pausedUntil, nextAt: later };
  }
  const probe = outage !== null && isProbe(batch, outage) ? outage.probe : batch.key;
  return { outage: { ...next, probe, holdUntil: later }, pausedUntil, nextAt: pausedUntil };
}

// The upload speed of an account, in bytes per ms, kept in the store's marks, so that a run with
// little time makes files that it can send. Pure.

import { valueOfMark } from "../../accounts/pauses.ts";
import type { MarkChange, MarkRow } from "../../contract/store/ledger-rows.ts";
import { storedMessage } from "../../format/stored-code.ts";

const MARK = "upload speed ";
/** Assumed for an account without an upload so far. */
const UNKNOWN_SPEED = 1_000;
/** Minimum bytes of a measured file: shorter ones measure latency, and count as a lower bound. */
const LEAST_BYTES = 1_000_000;
/** Lower bound of the speed, in bytes a millisecond: a modem's. */
const LEAST_SPEED = 8;
/**
 * An upload that was cut off may have hung, so it lowers the speed to no less than this fraction.
 */
const LEAST_FALL = 0.125;
/**
 * Share of a run's time for which a file is made: several are sent at once, and other calls need
 * time.
 */
const SHARE = 0.5;

/** The measurement of one upload. */
export interface Sending {
  readonly bytes: number;
  readonly ms: number;
  /** The time ended first, so the true speed is lower. */
  readonly isCut: boolean;
}

/** null if unknown. */
export function speedOf(marks: readonly MarkRow[], account: string): number | null {
  const value = valueOfMark(marks, MARK + account);
  return value === null ? null : Number(value);
}

/** The new speed; null if it does not change. `before`: null for none. */
export function nextSpeed(before: number | null, { bytes, ms, isCut }: Sending): number | null {
  const seen = bytes / Math.max(1, ms);
  if (isCut) {
    const known = before ?? UNKNOWN_SPEED;
    // Without a line there is no measurement.
    return bytes === 0 ? null : Math.max(LEAST_SPEED, known * LEAST_FALL, Math.min(known, seen) / 2);
  }
  if (bytes < LEAST_BYTES && (before === null || seen <= before)) return null;
  return before === null ? seen : (before + seen) / 2;
}

export function speedChange(account: string, before: number | null, speed: number): MarkChange {
  const expected = before === null ? null : textOf(before);
  return { name: storedMessage(MARK + account), expected, value: textOf(speed) };
}

/** The largest file to make for a run of this length. */
export function mostBytes(speed: number | null, wholeMs: number): number {
  return Math.max(1, Math.floor((speed ?? UNKNOWN_SPEED) * wholeMs * SHARE));
}

function textOf(speed: number): string {
  return String(Math.round(speed * 1_000) / 1_000);
}

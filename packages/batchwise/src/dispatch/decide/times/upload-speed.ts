// How fast the lines of a batch go to an account, in bytes a millisecond, kept in the marks of the
// store: a run that has little time makes files that it can move. Pure.

import type { MarkChange, MarkRow } from "../../contract/rows.ts";
import { storedMessage } from "../../format/stored-code.ts";

const MARK = "upload speed ";
/** Taken for an account that nothing was sent to. */
export const UNKNOWN_SPEED = 1_000;
/** Shorter files say more about the way to the provider than about its width. */
const LEAST_BYTES = 1_000_000;
/** Share of a run's time that a file is made for: several go at once, and other calls need some. */
const SHARE = 0.5;

/** What one sending of lines has shown. */
export interface Sending {
  readonly bytes: number;
  readonly ms: number;
  /** The time was over before the end: the true speed is lower than these say. */
  readonly isCut: boolean;
}

export function uploadSpeeds(marks: readonly MarkRow[]): ReadonlyMap<string, number> {
  return new Map(
    marks.flatMap(({ name, value }) => (name.startsWith(MARK) ? [[name.slice(MARK.length), Number(value)]] : [])),
  );
}

/** null where it changes nothing. `before`: null for none. */
export function nextSpeed(before: number | null, { bytes, ms, isCut }: Sending): number | null {
  if (isCut) return Math.max(1, Math.min(before ?? UNKNOWN_SPEED, bytes / Math.max(1, ms)) / 2);
  if (bytes < LEAST_BYTES) return null;
  const seen = bytes / Math.max(1, ms);
  return before === null ? seen : (before + seen) / 2;
}

export function speedChange(account: string, before: number | null, speed: number): MarkChange {
  const expected = before === null ? null : textOf(before);
  return { name: storedMessage(MARK + account), expected, value: textOf(speed) };
}

/** The largest file to make for a run of so long. */
export function mostBytes(speed: number | null, wholeMs: number): number {
  return Math.max(1, Math.floor((speed ?? UNKNOWN_SPEED) * wholeMs * SHARE));
}

function textOf(speed: number): string {
  return String(Math.round(speed * 1_000) / 1_000);
}

/**
 * The contenders of the suite `gather`: ways to write single rows with a synchronous insert of
 * many. All use the same insert, one transaction per call.
 */
import { batch } from "batchwise";
import type { Row, SavedRow } from "../load/rows.ts";
import { gatherTurn } from "./batchwise.ts";

/** Writes the rows in one transaction; synchronous, as node:sqlite is. */
export type Insert = (rows: readonly Row[]) => SavedRow[];
export type RowWriter = (row: Row) => Promise<SavedRow>;

interface Waiting {
  readonly row: Row;
  readonly resolve: (saved: SavedRow) => void;
  readonly reject: (error: unknown) => void;
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The code that a careful person writes: the rows of one pass of the event loop are one insert. */
function handWritten(insert: Insert): RowWriter {
  let waiting: Waiting[] = [];
  function send(): void {
    const sent = waiting;
    waiting = [];
    try {
      const saved = insert(sent.map(({ row }) => row));
      for (const [at, { resolve }] of sent.entries()) resolve(saved[at] as SavedRow);
    } catch (error) {
      for (const { reject } of sent) reject(error);
    }
  }
  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject });
      if (waiting.length === 1) setImmediate(send);
    });
}

const rowWriters: Readonly<Record<string, (insert: Insert) => RowWriter>> = {
  unbatched: (insert) => async (row) => insert([row])[0] as SavedRow,
  "hand-written": handWritten,
  "batchwise-plain": (insert) => batch((rows: Row[]) => insert(rows)),
  "batchwise-turn": (insert) => batch((rows: Row[]) => insert(rows), gatherTurn),
  "batchwise-waits": (insert) =>
    batch(async (rows: Row[]) => {
      await nextTick();
      return insert(rows);
    }),
};

export function findRowWriter(name: string): (insert: Insert) => RowWriter {
  const make = rowWriters[name];
  if (make === undefined) {
    throw new RangeError(`Expected a contender, one of ${Object.keys(rowWriters).join(", ")}, got \`${name}\``);
  }
  return make;
}

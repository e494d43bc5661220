// The results, one line a request, each exactly once. Every line carries the cursor of its outcome in the dispatcher's
// log, and lines are written in the order of the log: so the last whole line says where to go on after a crash, and a
// line that the crash has cut off is taken away and written again.

import { appendFileSync, closeSync, ftruncateSync, openSync, readSync } from "node:fs";
import type { LoggedOutcome } from "batchwise/dispatch";
import { labelOf } from "./requests.ts";

const CHUNK = 1 << 20;
const NEWLINE = 10;

export class ResultsFile {
  readonly #file: number;
  /** Of the last line. */
  cursor = 0;

  /** Opens the file, or makes it, and tells `seen` the id of each line that is there. */
  constructor(path: string, seen: (id: string) => void) {
    this.#file = openSync(path, "a+");
    const whole = eachLine(this.#file, (text) => {
      const { id, cursor } = JSON.parse(text) as { readonly id: string; readonly cursor: number };
      this.cursor = cursor;
      seen(id);
    });
    ftruncateSync(this.#file, whole);
  }

  add(outcome: LoggedOutcome): void {
    const { id, status, error, cursor } = outcome;
    appendFileSync(this.#file, `${JSON.stringify({ id, label: labelOf(outcome), status, error, cursor })}\n`);
    this.cursor = cursor;
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Calls back for each whole line; gives the length of all of them. */
function eachLine(file: number, visit: (text: string) => void): number {
  const buffer = Buffer.alloc(CHUNK);
  let rest = Buffer.alloc(0);
  let whole = 0;
  for (let at = 0; ; ) {
    const length = readSync(file, buffer, 0, CHUNK, at);
    if (length === 0) return whole;
    at += length;
    rest = Buffer.concat([rest, buffer.subarray(0, length)]);
    const end = rest.lastIndexOf(NEWLINE) + 1;
    if (end === 0) continue;
    for (const text of rest.toString("utf8", 0, end - 1).split("\n")) visit(text);
    rest = rest.subarray(end);
    whole += end;
  }
}

// The output of `batchwise run`: one line an outcome. Each run writes it anew from the store, which has all outcomes, so
// that a file that a crash has cut off needs no repair. What an earlier run wrote is kept beside it until this run is
// complete: the store may have been pruned since. One process at a time writes it: a second is refused.

import {
  closeSync,
  createWriteStream,
  existsSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import type { NodeWritable } from "batchwise/dispatch";
import { CommandError } from "../common/failures.ts";
import { type FileLock, takeLock, thisProcess } from "./file-lock.ts";

export interface OutputFile {
  /** Opens an empty file; what was in it moves to `previous`. */
  open(): NodeWritable;
  /** Forgets what earlier runs wrote: all of it has been written again. */
  complete(): void;
  /** Where the lines of earlier runs are; null where there are none. */
  previous(): string | null;
  /** Lets other processes have the file. */
  release(): void;
}

const LOOKED_AT = 4_096;

/** Refuses an output that is the input, or that holds something else than outcomes. Writes only the lock. */
export function takeOutput(path: string, input: string, force: boolean): OutputFile {
  const folder = dirname(resolve(path));
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new CommandError(`There is no folder ${dirname(path)} for the output.`);
  }
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) throw new CommandError(`The output ${path} is a folder: expected a file.`);
  if (found !== undefined && realpathSync(path) === realpathSync(input)) {
    throw new CommandError(`The output ${path} is the input: name another file.`);
  }
  if (found !== undefined && found.size > 0 && !force && !isOutcomes(path)) {
    throw new CommandError(`${path} has something else than outcomes in it: name another --output, or pass --force.`);
  }
  const lock = `${path}.lock`;
  const taken = takeOwn(lock, path);
  const previous = `${path}.previous`;
  return {
    open: () => {
      const isWritten = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
      // One that is there is from before a run that was not completed, and may have more lines.
      if (isWritten && !existsSync(previous)) renameSync(path, previous);
      return createWriteStream(path);
    },
    complete: () => rmSync(previous, { force: true }),
    previous: () => (existsSync(previous) ? previous : null),
    release: () => taken.release(),
  };
}

/** True for a first line in one of the forms that `run` writes, whole or cut off. */
function isOutcomes(path: string): boolean {
  const buffer = Buffer.alloc(LOOKED_AT);
  const file = openSync(path, "r");
  const length = readSync(file, buffer, 0, LOOKED_AT, 0);
  closeSync(file);
  return /^\{"id":"(?:outcome_\d+","custom_id":|(?:[^"\\]|\\.)*","status":")/.test(buffer.toString("utf8", 0, length));
}

function takeOwn(lock: string, path: string): FileLock {
  const { lock: taken, owner } = takeLock(lock);
  if (taken !== null) return taken;
  const ways = `end it, name another --output, or delete ${lock} if that process is no batchwise`;
  const where = owner.place === thisProcess().place ? "" : ` of ${owner.place}`;
  throw new CommandError(`${path} is being written by process ${owner.pid}${where}: ${ways}.`);
}

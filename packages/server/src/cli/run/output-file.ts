// The output of `batchwise run`: one line an outcome. Each run writes it anew from the store, which
// has all outcomes, so that a file that a crash has cut off needs no repair. What an earlier run
// wrote is kept beside it until this run is complete: the store may have been pruned since. One
// process at a time writes it: a second is refused.

import {
  closeSync,
  createWriteStream,
  existsSync,
  lstatSync,
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

/**
 * A stream into an output that no other process writes. The same checks as those of a run, but for
 * the input; what was in it is overwritten.
 */
export function openOutput(path: string, force: boolean): { readonly stream: NodeWritable; release(): void } {
  checkOutput(path, force);
  if (isStdout(path)) return { stream: process.stdout, release: () => {} };
  const taken = isSpecial(path) ? null : takeOwn(`${path}.lock`, path);
  return { stream: createWriteStream(path), release: () => taken?.release() };
}

/**
 * Refuses an output that is the input, or that holds something else than outcomes. Writes only the
 * lock.
 */
export function takeOutput(path: string, input: string, force: boolean): OutputFile {
  if (existsSync(path) && realpathSync(path) === realpathSync(input)) {
    throw new CommandError(`The output ${path} is the input: name another file.`);
  }
  checkOutput(path, force);
  if (isStdout(path) || isSpecial(path))
    return passing(() => (isStdout(path) ? process.stdout : createWriteStream(path)));
  const taken = takeOwn(`${path}.lock`, path);
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

/** What an earlier run wrote to a pipe is not there any more. */
function passing(open: () => NodeWritable): OutputFile {
  return { open, complete: () => {}, previous: () => null, release: () => {} };
}

function checkOutput(path: string, force: boolean): void {
  if (isStdout(path)) return;
  if (statSync(dirname(resolve(path)), { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new CommandError(`There is no folder ${dirname(path)} for the output.`);
  }
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined && lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
    throw new CommandError(`The output ${path} is a link to a file that is not there: name that file.`);
  }
  if (found?.isDirectory() === true) throw new CommandError(`The output ${path} is a folder: expected a file.`);
  if (found?.isFile() === true && found.size > 0 && !force && !isOutcomes(path)) {
    throw new CommandError(`${path} has something else than outcomes in it: name another --output, or pass --force.`);
  }
}

function isStdout(path: string): boolean {
  return ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].includes(resolve(path));
}

/** A pipe or a device. */
function isSpecial(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === false;
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

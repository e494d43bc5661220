// The output of `batchwise run`: one line per outcome. Each run writes the whole file again from
// the store, which has all outcomes, so a file that a crash cut off needs no repair. A second file
// keeps the lines of an earlier run until this run is complete, because the store may have been
// pruned since. Only one process at a time writes it; a second is refused.

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
  /** Opens an empty file; moves the old content to `previous`. */
  open(): NodeWritable;
  /** Deletes the lines of earlier runs: all of them have been written again. */
  complete(): void;
  /** Path of the lines of earlier runs; null if there are none. */
  previous(): string | null;
  /** Releases the lock. */
  release(): void;
}

const LOOKED_AT = 4_096;

/**
 * A stream into an output that no other process writes. Checks everything that a run checks except
 * the input; overwrites the old content.
 */
export function openOutput(path: string, force: boolean): { readonly stream: NodeWritable; release(): void } {
  checkOutput(path, force);
  if (isStdout(path)) return { stream: process.stdout, release: () => {} };
  const taken = isSpecial(path) ? null : takeOwn(`${path}.lock`, path);
  return { stream: createWriteStream(path), release: () => taken?.release() };
}

/**
 * Throws if the output is the input, or contains something other than outcomes. Writes only the
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
      // An existing one is from a run that was not completed, and may have more lines.
      if (isWritten && !existsSync(previous)) renameSync(path, previous);
      return createWriteStream(path);
    },
    complete: () => rmSync(previous, { force: true }),
    previous: () => (existsSync(previous) ? previous : null),
    release: () => taken.release(),
  };
}

/** An output that cannot be read again, such as a pipe. */
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

/** True for a pipe or a device. */
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

// A file that says which process writes another file. Guarantees that of all processes that ask one
// has it: also where several find the lock of a process that was killed, and where processes in
// containers have equal numbers. The owner touches it while it lives: who cannot look at the
// process, because it runs elsewhere, looks at that.

import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";

const TOUCHED_EVERY_MS = 10_000;
/** An owner elsewhere that has not touched its lock for so long is gone. */
const GONE_AFTER_MS = 60_000;
const TRIES = 10;

/** A process, as a lock names it: its number means something only to those of the same place. */
export interface LockOwner {
  readonly pid: number;
  readonly place: string;
  readonly token: string;
}

export interface FileLock {
  release(): void;
}

/** The process that has the file; null once it is ours. */
export type Taken =
  | { readonly lock: FileLock; readonly owner: null }
  | { readonly lock: null; readonly owner: LockOwner };

export function thisProcess(): LockOwner {
  return { pid: process.pid, place: placeOfThis(), token: randomUUID() };
}

export function takeLock(
  path: string,
  self: LockOwner = thisProcess(),
  isRunning: (pid: number) => boolean = isProcess,
): Taken {
  const text = textOf(self);
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (create(path, text)) return { lock: held(path, text), owner: null };
    const found = read(path);
    if (found === null) continue;
    const owner = ownerOf(found.text);
    if (isAlive(owner, found.touchedAt, self, isRunning)) return { lock: null, owner };
    if (succeed(path, found.text, self, isRunning)) return { lock: held(path, text), owner: null };
  }
  throw new Error(`${path} changes all the time: other processes take it and let go of it.`);
}

/**
 * Takes the place of a lock whose owner is gone. Who does that has a lock of its own on it: one at
 * a time does.
 */
function succeed(path: string, dead: string, self: LockOwner, isRunning: (pid: number) => boolean): boolean {
  const { lock } = takeLock(`${path}.next`, self, isRunning);
  if (lock === null) return false;
  try {
    // Another one may have taken it since we looked.
    if (read(path)?.text !== dead) return false;
    const own = `${path}.${self.token}`;
    writeFileSync(own, textOf(self));
    renameSync(own, path);
    return true;
  } finally {
    lock.release();
  }
}

function held(path: string, text: string): FileLock {
  const isOurs = (): boolean => read(path)?.text === text;
  const beat = setInterval(() => {
    try {
      if (isOurs()) utimesSync(path, new Date(), new Date());
      else clearInterval(beat);
    } catch {
      // Its folder is gone, or it has just been taken away.
    }
  }, TOUCHED_EVERY_MS);
  beat.unref();
  return {
    release: () => {
      clearInterval(beat);
      if (isOurs()) rmSync(path, { force: true });
    },
  };
}

/** False where it is there. It appears with its text in it: no process reads half a lock. */
function create(path: string, text: string): boolean {
  const own = `${path}.${ownerOf(text).token}`;
  try {
    writeFileSync(own, text);
    linkSync(own, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(codeOf(error))) throw error;
    // A file system without links.
    return createPlainly(path, text);
  } finally {
    rmSync(own, { force: true });
  }
}

function createPlainly(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function read(path: string): { readonly text: string; readonly touchedAt: number } | null {
  try {
    return { text: readFileSync(path, "utf8"), touchedAt: statSync(path).mtimeMs };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

function isAlive(owner: LockOwner, touchedAt: number, self: LockOwner, isRunning: (pid: number) => boolean): boolean {
  if (owner.place !== self.place) return Date.now() - touchedAt < GONE_AFTER_MS;
  // One with our number was here before us. 0 is a lock that was cut off before its number was
  // written.
  return owner.pid > 0 && owner.pid !== self.pid && isRunning(owner.pid);
}

function textOf({ pid, place, token }: LockOwner): string {
  return JSON.stringify({ pid, place, token });
}

/** Earlier versions wrote the number alone. */
function ownerOf(text: string): LockOwner {
  try {
    const { pid, place, token } = Object(JSON.parse(text)) as Partial<LockOwner>;
    if (typeof pid === "number" && typeof place === "string" && typeof token === "string") return { pid, place, token };
  } catch {
    // Cut off.
  }
  return { pid: Number(text) || 0, place: placeOfThis(), token: "" };
}

/** Processes of one place see one another under the same numbers. */
function placeOfThis(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

function isProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code);
}

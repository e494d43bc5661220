// A lock file that names the process which writes another file. Guarantees that at most one process
// holds it, even if several find the lock of a killed process, and even if processes in containers
// have the same id. The owner touches its lock while it lives: a process that cannot check the
// owner, because it runs elsewhere, checks that time.

import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";

const TOUCHED_EVERY_MS = 10_000;
/**
 * Time in ms after which an owner on another machine that has not touched its lock counts as dead.
 */
const GONE_AFTER_MS = 60_000;
const TRIES = 10;

/** The process of a lock. Its id is valid only for processes of the same place. */
export interface LockOwner {
  readonly pid: number;
  readonly place: string;
  readonly token: string;
}

export interface FileLock {
  release(): void;
}

/** The process that has the file; null if this process has it now. */
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
 * Replaces the lock of a dead owner. The replacing process holds a second lock meanwhile, so only
 * one does this at a time.
 */
function succeed(path: string, dead: string, self: LockOwner, isRunning: (pid: number) => boolean): boolean {
  const { lock } = takeLock(`${path}.next`, self, isRunning);
  if (lock === null) return false;
  try {
    // Another process may have replaced it since it was read.
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
      // The folder was deleted, or the lock has just been removed.
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

/** False if the file exists. It appears with its text, so no process reads half a lock. */
function create(path: string, text: string): boolean {
  const own = `${path}.${ownerOf(text).token}`;
  try {
    writeFileSync(own, text);
    linkSync(own, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(codeOf(error))) throw error;
    // For a file system without links.
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
  // A lock with our own process id is from an earlier process. 0 is a lock that was cut off before
  // its id was written.
  return owner.pid > 0 && owner.pid !== self.pid && isRunning(owner.pid);
}

function textOf({ pid, place, token }: LockOwner): string {
  return JSON.stringify({ pid, place, token });
}

/** Earlier versions wrote only the process id. */
function ownerOf(text: string): LockOwner {
  try {
    const { pid, place, token } = Object(JSON.parse(text)) as Partial<LockOwner>;
    if (typeof pid === "number" && typeof place === "string" && typeof token === "string") return { pid, place, token };
  } catch {
    // The text was cut off.
  }
  return { pid: Number(text) || 0, place: placeOfThis(), token: "" };
}

/** Processes of one place see one another under the same ids. */
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

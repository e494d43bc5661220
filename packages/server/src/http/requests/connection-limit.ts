/**
 * Limits open connections, so that they never use up the file descriptors of the process. Without
 * free descriptors the operating system closes new connections, and this process does not see it.
 *
 * Guarantees: a connection beyond the limit is closed at once, counted, and reported at most once a
 * minute.
 */

import { readdirSync } from "node:fs";
import type { Server } from "node:http";

/**
 * Descriptors reserved for everything else: files, threads that are replaced. A quarter of the free
 * ones if that is less.
 */
const RESERVE = 64;
const REPORT_EVERY_MS = 60_000;

export interface ConnectionLimit {
  /** Undefined if the process has no readable limit on open files. */
  readonly limit: number | undefined;
  /** Number of connections closed because of it, since the start. */
  readonly dropped: number;
}

/** Call it after the service has opened its files. `asked`: the limit set by the user. */
export function limitConnections(
  server: Server,
  asked: number | undefined,
  report: (message: string) => void,
): ConnectionLimit {
  const possible = possibleConnections();
  const limit = asked ?? possible;
  let dropped = 0;
  const reportSeldom = onceAMinute(report);
  if (limit !== undefined) server.maxConnections = limit;
  if (asked !== undefined && possible !== undefined && asked > possible) {
    report(`${asked} connections may be open, but the process's limit on open files leaves room for ${possible}.`);
  }
  server.on("drop", () => {
    dropped += 1;
    const more = "Raise --max-connections, or the limit on open files (ulimit -n), or start more processes.";
    reportSeldom(`A connection was closed because ${limit} are open; ${dropped} since the start. ${more}`);
  });
  return {
    limit,
    get dropped() {
      return dropped;
    },
  };
}

/**
 * Reports errors of accepting a connection, such as ENOBUFS, which would end the process. Call it
 * when the server listens: an earlier error is one of listening.
 */
export function reportFailedAccepts(server: Server, report: (message: string) => void): void {
  const reportSeldom = onceAMinute(report);
  server.on("error", ({ message }) => reportSeldom(`A connection could not be accepted: ${message}.`));
}

function onceAMinute(report: (message: string) => void): (message: string) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (message) => {
    const now = performance.now();
    if (now - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = now;
    report(message);
  };
}

function possibleConnections(): number | undefined {
  const { userLimits } = process.report.getReport() as unknown as { readonly userLimits?: UserLimits };
  const most = Number(userLimits?.open_files.soft);
  // "unlimited", or a platform without such limits.
  if (!Number.isFinite(most)) return undefined;
  const free = most - readdirSync("/dev/fd").length;
  return Math.max(1, free - Math.min(RESERVE, Math.ceil(free / 4)));
}

interface UserLimits {
  readonly open_files: { readonly soft: number | string };
}

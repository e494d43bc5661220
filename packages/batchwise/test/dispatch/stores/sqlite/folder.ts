// A folder for the databases of one test file, and plain rows to fill them with.

import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SealInput } from "../../../../src/dispatch/contract/store/calls.ts";
import type { NewRequest } from "../../../../src/dispatch/contract/store/rows.ts";
import type { SqliteDatabase, SqliteValue } from "../../../../src/dispatch/stores/sqlite/index.ts";

export interface Folder {
  /** A unique file name. */
  file(): string;
  remove(): void;
}

const MEMORY = "/dev/shm";
const NEEDED_BYTES = 1024 ** 3;

/**
 * The parent of folders for databases: in memory where the machine has such a folder with enough
 * room. A disk takes some milliseconds for each commit, of which tests make tens of thousands; only
 * a loss of power would show a difference.
 */
export function databaseParent(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= NEEDED_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

export function makeFolder(parent: string = databaseParent()): Folder {
  const folder = mkdtempSync(join(parent, "batchwise-"));
  let files = 0;
  return {
    file: () => {
      files += 1;
      return join(folder, `${files}.db`);
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

export const NOW = 1_700_000_000_000;
const LANE = "/v1/embeddings  m";

/** `prefix0`, `prefix1`, ... with bodies of about `size` characters. */
export function requests(count: number, prefix: string, size = 20): NewRequest[] {
  return Array.from({ length: count }, (_, n) => ({
    ...{ id: `${prefix}${n}`, digest: `${prefix}${n}`, lane: LANE, priority: 0, tenant: "", job: "", deadlineAt: null },
    ...{ bytes: size, tokens: 1, metadata: null, body: `{"input":"${"x".repeat(size)}"}` },
  }));
}

export function sealInput(key: string, maxRequests = 1_000_000): SealInput {
  return {
    ...{ key, lane: LANE, account: "a", ledger: "a", owner: key, leaseUntil: NOW + 1_000, now: NOW },
    limits: { tokens: Infinity, requests: Infinity, batches: Infinity },
    ...{ maxRequests, maxBytes: Infinity, maxTokens: Infinity, minRequests: 1, avoidCounts: [] },
  };
}

/** A database that writes down every statement that it runs. */
export function watched(path: string): { database: SqliteDatabase; ran: string[]; close(): void } {
  const inner = new DatabaseSync(path);
  const ran: string[] = [];
  const database: SqliteDatabase = {
    exec: (sql) => inner.exec(sql),
    prepare: (sql) => {
      const statement = inner.prepare(sql);
      const noted = (values: SqliteValue[]): SqliteValue[] => {
        ran.push(sql);
        return values;
      };
      return {
        run: (...values) => statement.run(...noted(values)),
        get: (...values) => statement.get(...noted(values)),
        all: (...values) => statement.all(...noted(values)),
      };
    },
  };
  return { database, ran, close: () => inner.close() };
}

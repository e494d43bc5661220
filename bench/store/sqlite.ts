/**
 * The measures of SQLite: the measures of any store, on a database in a temporary folder; the plain
 * SQLite work for comparison; and measures of this store only.
 */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { NewRequest, Store } from "batchwise/dispatch";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import { anyStore } from "./any-store.ts";
import { inFolder } from "./folder.ts";
import { addDone } from "./history.ts";
import { at, type Measures } from "./measures.ts";
import { job, passing } from "./passing.ts";
import { PRUNED, prune } from "./pruning.ts";
import { size } from "./size.ts";
import {
  BATCH,
  CHUNK,
  callsOf,
  enqueueAll,
  MANY_DONE,
  NOW,
  PASSING,
  payload,
  requests,
  sealInput,
  seconds,
} from "./work.ts";

/** Few, because one insert per commit is slow. */
const RAW_SINGLES = 3_000;
/** Five batches. */
const SEALED = 250_000;
/** Pairs of seals among ten million done requests, and among fewer. */
const PAIRS = 7;
const QUICK_PAIRS = 3;
const FEW_DONE = 10_000;
const RAW_REQUEST = "CREATE TABLE request (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)";
const RAW_RESULT = "CREATE TABLE result (seq INTEGER PRIMARY KEY, payload TEXT NOT NULL)";

async function inStore(work: (store: Store) => Promise<Measurement>): Promise<Measurement> {
  return inFolder(async (file) => {
    const store = sqliteStore({ path: file });
    await store.probe(1, NOW);
    const seen = await work(store);
    await store.close();
    return seen;
  });
}

/** A database with the store's own settings and one table, to measure SQLite itself. */
export function rawDatabase(path: string, table: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 1000; PRAGMA cache_size = -4000; ${table}`);
  return database;
}

async function ingestRaw(file: string, count: number): Promise<Measurement> {
  return insertRaw(file, callsOf(count));
}

/** With ids that sort by time, like the ids that the dispatcher makes. */
async function ingestRawOrdered(file: string, count: number): Promise<Measurement> {
  return insertRaw(file, callsOf(count, "ordered"));
}

async function insertRaw(file: string, calls: readonly (readonly NewRequest[])[]): Promise<Measurement> {
  const database = rawDatabase(file, RAW_REQUEST);
  const insert = database.prepare("INSERT INTO request (id, body) VALUES (?, ?)");
  const took = await seconds(() => {
    for (const call of calls) {
      database.exec("BEGIN IMMEDIATE");
      for (const { id, body } of call) insert.run(id, body);
      database.exec("COMMIT");
    }
  });
  database.close();
  return { perSecond: (calls.length * CHUNK) / took };
}

/** One insert per commit: the cost of a caller without grouping. */
async function singleRaw(file: string, count: number): Promise<Measurement> {
  const database = rawDatabase(file, RAW_REQUEST);
  const insert = database.prepare("INSERT INTO request (id, body) VALUES (?, ?)");
  const waiting = requests(count);
  const took = await seconds(() => {
    for (const { id, body } of waiting) insert.run(id, body);
  });
  database.close();
  return { perSecond: count / took };
}

async function settleRaw(file: string, count: number): Promise<Measurement> {
  const database = rawDatabase(file, RAW_RESULT);
  const insert = database.prepare("INSERT INTO result (payload) VALUES (?)");
  const took = await seconds(() => {
    for (let done = 0; done < count; done += CHUNK) {
      database.exec("BEGIN IMMEDIATE");
      for (let n = 0; n < CHUNK; n += 1) insert.run(payload);
      database.exec("COMMIT");
    }
  });
  database.close();
  return { perSecond: count / took };
}

/**
 * Milliseconds to seal 50,000 in a store with few done requests and in one with many. The two take
 * turns, and the ratio is computed from seals that ran within a second of one another.
 */
async function sealAmong(file: string, many: number): Promise<Measurement> {
  const few = await storeWithDone(`${file}.few`, FEW_DONE);
  const full = await storeWithDone(file, many);
  const pairs = many < MANY_DONE ? QUICK_PAIRS : PAIRS;
  const [fewMs, manyMs, probeMs]: [number[], number[], number[]] = [[], [], []];
  for (let n = 0; n < pairs; n += 1) {
    for (const store of [few, full]) await enqueueAll(store, BATCH);
    const key = `seal-${n}`;
    probeMs.push(1_000 * (await seconds(async () => void (await full.probe(BATCH, NOW)))));
    for (const [store, took] of n % 2
      ? ([
          [few, fewMs],
          [full, manyMs],
        ] as const)
      : ([
          [full, manyMs],
          [few, fewMs],
        ] as const)) {
      took.push(1_000 * (await seconds(async () => void (await store.seal(sealInput(key))))));
    }
  }
  for (const [store, done] of [
    [few, FEW_DONE],
    [full, many],
  ] as const) {
    const { outcomes, inBatches } = await store.probe(1, NOW);
    if (outcomes.succeeded !== done || inBatches !== pairs * BATCH) throw new Error("the store's figures are wrong");
    await store.close();
  }
  const ratios = manyMs.map((ms, pair) => ms / (fewMs[pair] ?? Number.NaN));
  return { fewMs: median(fewMs), manyMs: median(manyMs), ratio: median(ratios), probeMs: median(probeMs) };
}

/** The size of the file after its log has been copied back into it. */
async function pruneInFile(file: string, count: number): Promise<Measurement> {
  const store = sqliteStore({ path: file });
  await store.probe(1, NOW);
  const seen = await prune(store, count, async () => {
    const database = new DatabaseSync(file);
    database.exec("PRAGMA wal_checkpoint(FULL)");
    database.close();
    return statSync(file).size;
  });
  await store.close();
  return seen;
}

/**
 * Nothing is copied back from the log before the measure does so, so the log has everything that
 * was written.
 */
async function sizeInFile(file: string, count: number): Promise<Measurement> {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
  const store = sqliteStore({ database });
  await store.probe(1, NOW);
  database.exec("PRAGMA wal_autocheckpoint = 0");
  let copied = 0;
  const logged = (): number => statSync(`${file}-wal`).size;
  const seen = await size(store, count, {
    written: async () => copied + logged(),
    bytes: async () => {
      copied += logged();
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return statSync(file).size;
    },
  });
  await store.close();
  database.close();
  return seen;
}

async function storeWithDone(file: string, done: number): Promise<Store> {
  const store = sqliteStore({ path: file });
  await store.probe(1, NOW);
  addDone(file, done);
  return store;
}

export const measures: Measures = {
  ...at({ ...anyStore, batch: { ...anyStore.batch, count: SEALED } }, inStore),
  ...at(
    {
      ingestRaw: { run: ingestRaw, count: anyStore.ingest.count },
      ingestRawOrdered: { run: ingestRawOrdered, count: anyStore.ingest.count },
      singleRaw: { run: singleRaw, count: RAW_SINGLES },
      settleRaw: { run: settleRaw, count: BATCH },
      sealAmong: { run: sealAmong, count: MANY_DONE },
      passing: { run: passing, count: PASSING },
      job: { run: job, count: PASSING },
      prune: { run: pruneInFile, count: PRUNED },
      size: { run: sizeInFile, count: BATCH },
    },
    inFolder,
  ),
};

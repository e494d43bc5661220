/** Each measure of the SQLite store, and the plain SQLite work beside it. One process runs one of them, once. */
import {
  createDispatcher,
  type Dispatcher,
  type DispatchRequest,
  type NewRequest,
  type Store,
} from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import { addDone } from "./history.ts";
import { passing } from "./passing.ts";
import { PlainClient } from "./plain-client.ts";
import {
  BATCH,
  CHUNK,
  dispatchRequests,
  enqueueAll,
  inFolder,
  NOW,
  payload,
  rawDatabase,
  requests,
  sealInput,
  seconds,
  settleAll,
} from "./work.ts";

const INGEST = 100_000;
const SINGLES = 20_000;
const CALLERS = 256;
const RAW_SINGLES = 3_000;
const SEALED = 250_000;
const SETTLED = 50_000;
/** Pairs of seals among ten million done, and among fewer. */
const PAIRS = 7;
const QUICK_PAIRS = 3;
const FEW_DONE = 10_000;
export const MANY_DONE = 10_000_000;
export const PASSING = 1_000_000;
const ID_LENGTH = 26;
const RAW_REQUEST = "CREATE TABLE request (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)";
const RAW_RESULT = "CREATE TABLE result (seq INTEGER PRIMARY KEY, payload TEXT NOT NULL)";

/** Requests a second by calls of 1,000. */
async function ingest(file: string, count: number): Promise<Measurement> {
  const store = sqliteStore({ path: file });
  await store.probe(1, NOW);
  const calls = Array.from({ length: count / CHUNK }, () => requests(CHUNK));
  const took = await seconds(async () => {
    for (const call of calls) await store.enqueue(call, NOW);
  });
  await store.close();
  return { perSecond: count / took };
}

async function ingestRaw(file: string, count: number): Promise<Measurement> {
  return insertRaw(
    file,
    Array.from({ length: count / CHUNK }, () => requests(CHUNK)),
  );
}

/** Under ids that sort by time, as those are that the dispatcher makes. */
async function ingestRawOrdered(file: string, count: number): Promise<Measurement> {
  const id = (n: number): string => String(n).padStart(ID_LENGTH, "0");
  const calls = Array.from({ length: count / CHUNK }, (_, call) =>
    requests(CHUNK).map((one, n) => ({ ...one, id: id(call * CHUNK + n) })),
  );
  return insertRaw(file, calls);
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

/** Requests a second by callers that enqueue one, wait until it is durable, and go on with the next. */
async function single(file: string, count: number): Promise<Measurement> {
  const store = sqliteStore({ path: file });
  await store.probe(1, NOW);
  const waiting = requests(count);
  const latencies: number[] = [];
  const caller = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const start = performance.now();
      await store.enqueue([next], NOW);
      latencies.push(performance.now() - start);
    }
  };
  const took = await seconds(async () => {
    await Promise.all(Array.from({ length: CALLERS }, caller));
  });
  await store.close();
  return { perSecond: count / took, medianMs: median(latencies) };
}

/** The same two through the dispatcher: checked, encoded, measured and named on the way. */
async function dispatchMany(file: string, count: number): Promise<Measurement> {
  return enqueueCalls(
    file,
    Array.from({ length: count / CHUNK }, () => dispatchRequests(CHUNK)),
  );
}

/** By callers that leave the ids to the dispatcher. */
async function dispatchManyUnnamed(file: string, count: number): Promise<Measurement> {
  const unnamed = (): DispatchRequest[] => dispatchRequests(CHUNK).map(({ body }) => ({ body }));
  return enqueueCalls(file, Array.from({ length: count / CHUNK }, unnamed));
}

async function enqueueCalls(file: string, calls: readonly (readonly DispatchRequest[])[]): Promise<Measurement> {
  const dispatcher = await idleDispatcher(file);
  const took = await seconds(async () => {
    for (const call of calls) await dispatcher.enqueueMany(call);
  });
  await dispatcher.stop();
  return { perSecond: (calls.length * CHUNK) / took };
}

async function dispatchSingle(file: string, count: number): Promise<Measurement> {
  const dispatcher = await idleDispatcher(file);
  const waiting = dispatchRequests(count);
  const caller = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await dispatcher.enqueue(next);
  };
  const took = await seconds(async () => {
    await Promise.all(Array.from({ length: CALLERS }, caller));
  });
  await dispatcher.stop();
  return { perSecond: count / took };
}

/** Takes requests in and never starts: nothing is sent, so nothing has to answer. */
async function idleDispatcher(file: string): Promise<Dispatcher> {
  const store = sqliteStore({ path: file });
  await store.probe(1, NOW);
  const client = new PlainClient("http://127.0.0.1:9");
  return createDispatcher({ store, accounts: [openaiAccount({ client })] });
}

/** One insert a commit: what each caller alone would pay. */
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

/** Milliseconds to seal 50,000, and requests settled a second in chunks of 1,000. */
async function batch(file: string, count: number): Promise<Measurement> {
  const store = sqliteStore({ path: file });
  const seals: number[] = [];
  const settles: number[] = [];
  for (let n = 0; n < count / BATCH; n += 1) {
    await enqueueAll(store, BATCH);
    seals.push(await seconds(async () => void (await store.seal(sealInput(`seal-${n}`)))));
    settles.push(await seconds(() => settleAll(store, `seal-${n}`, BATCH)));
  }
  const { outcomes } = await store.probe(1, NOW);
  if (outcomes.succeeded !== count) throw new Error(`${outcomes.succeeded} of ${count} were settled`);
  await store.close();
  return { sealMs: median(seals) * 1_000, perSecond: BATCH / median(settles) };
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
 * Milliseconds to seal 50,000 in a store where few requests are done and in one where many are. The two take turns, and
 * the ratio is formed from seals that ran within a second of one another.
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

async function storeWithDone(file: string, done: number): Promise<Store> {
  const store = sqliteStore({ path: file });
  await store.probe(1, NOW);
  addDone(file, done);
  return store;
}

interface Measure {
  readonly run: (file: string, count: number) => Promise<Measurement>;
  /** How many requests, where the call does not say. */
  readonly count: number;
}

const measures: Readonly<Record<string, Measure>> = {
  ingest: { run: ingest, count: INGEST },
  ingestRaw: { run: ingestRaw, count: INGEST },
  single: { run: single, count: SINGLES },
  singleRaw: { run: singleRaw, count: RAW_SINGLES },
  ingestRawOrdered: { run: ingestRawOrdered, count: INGEST },
  dispatchMany: { run: dispatchMany, count: INGEST },
  dispatchManyUnnamed: { run: dispatchManyUnnamed, count: INGEST },
  dispatchSingle: { run: dispatchSingle, count: SINGLES },
  batch: { run: batch, count: SEALED },
  settleRaw: { run: settleRaw, count: SETTLED },
  sealAmong: { run: sealAmong, count: MANY_DONE },
  passing: { run: passing, count: PASSING },
};

export async function measure(name: string, count: number | undefined): Promise<Measurement> {
  const found = measures[name];
  if (found === undefined) throw new RangeError(`Expected one of ${Object.keys(measures).join(", ")}, got \`${name}\``);
  return inFolder((file) => found.run(file, count ?? found.count));
}

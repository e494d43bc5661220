// Bedrock and Vertex AI on their worst days: every fault of the tables in hostile/ at every family
// of models, through the official SDKs over real sockets, on one of four stores each. Nothing is
// lost, nothing ends twice, nothing runs twice that need not, and the user gets a sentence about
// it.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { memoryStore } from "batchwise/dispatch";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { databaseParent } from "../../../dispatch/stores/sqlite/folder.ts";
import { runsAllCases } from "../../../dispatch/support/breadth.ts";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { FAMILIES, type Family } from "../hostile/families.ts";
import type { Fault } from "../hostile/fault.ts";
import { JOB_FAULTS } from "../hostile/job-faults.ts";
import { LINE_FAULTS, OUTPUT_FAULTS } from "../hostile/output-faults.ts";
import { openSite, type Site } from "../hostile/site.ts";
import { STORAGE_FAULTS } from "../hostile/storage-faults.ts";
import { type OpenStore, openStore } from "../stores/open-store.ts";

const REQUESTS = 4;
/** Virtual time that a batch may take, and for which a quarantined one is watched. */
const LONGEST_HOURS = 240;

const folder = mkdtempSync(join(databaseParent(), "batchwise-hostile-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

const inMemory = async (): Promise<OpenStore> => ({ store: memoryStore(), end: async () => {} });
const inFile = (): Promise<OpenStore> => openStore({ kind: "sqlite", path: file() });
const atPostgres = async (): Promise<OpenStore> => openStore({ kind: "postgres", config: await postgresPlace() });
const atRedis = async (): Promise<OpenStore> => openStore({ kind: "redis", ...(await redisPlace()) });
/**
 * Faults meet them in turn. Every eighth meets a server, in `npm test` every twenty-second: there
 * each step of virtual time costs a dozen round trips, and the faults are none of the store's.
 */
const PAIRS = runsAllCases ? 3 : 10;
const EMBEDDED = [...new Array<readonly (typeof inFile)[]>(PAIRS).fill([inMemory, inFile]).flat(), inMemory];
const STORES = [...EMBEDDED, atPostgres, ...EMBEDDED, atRedis];
const WITHOUT_SERVERS = [inMemory, inFile] as const;

async function site(family: Family, fault: Fault, place: number): Promise<Site> {
  const { plan = {}, output, overAfterMs, isLong = false } = fault;
  const stores = isLong ? WITHOUT_SERVERS : STORES;
  const { store, end } = await (stores[place % stores.length] ?? inMemory)();
  const rig = await openSite(family, store, {
    requests: REQUESTS,
    plan,
    ...(output === undefined ? {} : { output: output(family) }),
    ...(overAfterMs === undefined ? {} : { overAfterMs }),
  });
  onTestFinished(async () => {
    await rig.close();
    await store.close();
    await end();
  });
  fault.strike?.(rig);
  return rig;
}

/** The clients load a part of themselves with their first call. */
beforeAll(async () => {
  for (const family of FAMILIES) {
    const { store, end } = await inMemory();
    const rig = await openSite(family, store, { requests: 1 });
    await rig.until(async () => (await store.probe(1, rig.time.now())).cursor === 1, 1);
    await rig.close();
    await end();
  }
});

type Row = readonly [name: string, fault: Fault, row: number];

const siblingsOf = ({ service }: Family): readonly Family[] => FAMILIES.filter((other) => other.service === service);

/**
 * Faults of lines have to do with the family, and meet every one under `npm run prove`. All others
 * are the provider's: each meets one family of each provider.
 */
function rowsOf(family: Family, faults: readonly Fault[]): readonly Row[] {
  const siblings = faults === LINE_FAULTS && runsAllCases ? [family] : siblingsOf(family);
  const own = faults.filter((_, row) => siblings[row % siblings.length] === family);
  const { name } = family.service;
  return own.filter(({ only = name }) => only === name).map((fault) => [fault.name, fault, faults.indexOf(fault)]);
}

describe.each(FAMILIES.map((family, at) => [family.name, family, at] as const))("%s", (_family, family, at) => {
  test.each(rowsOf(family, JOB_FAULTS))("a job that %s", (_name, fault, row) => comesRight(family, fault, row + at));
  test.each(rowsOf(family, LINE_FAULTS))("a job that %s", (_name, fault, row) => comesRight(family, fault, row + at));
  test.each(rowsOf(family, OUTPUT_FAULTS))("a job that %s", (_name, fault, row) => comesRight(family, fault, row + at));
  test.each(rowsOf(family, STORAGE_FAULTS))("a storage that %s", (_name, fault, row) =>
    comesRight(family, fault, row + at),
  );
});

async function comesRight(family: Family, fault: Fault, place: number): Promise<void> {
  const rig = await site(family, fault, place);
  if (fault.ends === "aside") await isPutAside(rig);
  else await allSucceed(rig, fault);
  const words = rig.told.join("\n");
  if (fault.told !== undefined) expect(words).toMatch(fault.told);
  for (const line of rig.told) expect(line).toMatch(/^\w+: .{10}/);
  expect(words).not.toMatch(/undefined|\[object|NaN/);
}

/** Each has one outcome, a good one, and ran no more often than the fault forces. */
async function allSucceed(rig: Site, { runs = 1, jobs = 1 }: Fault): Promise<void> {
  const { store, time, ids, fake } = rig;
  const isOver = async (): Promise<boolean> => {
    const { cursor, inBatches, lanes } = await store.probe(1, time.now());
    return cursor >= ids.length && inBatches === 0 && lanes.length === 0;
  };
  await rig.until(isOver, LONGEST_HOURS);
  const outcomes = await rig.outcomes();
  expect(outcomes.map(({ id, status }) => [id, status])).toEqual(ids.map((id) => [id, "succeeded"]));
  expect((await store.probe(1, time.now())).cursor).toBe(ids.length);
  for (const times of fake.runs().values()) expect(times).toBeLessThanOrEqual(runs);
  const ran = fake.batches().filter(({ state }) => state !== "failed");
  expect(ran.length).toBeLessThanOrEqual(jobs);
}

/** It is not sent again, and all of its requests are still there. */
async function isPutAside(rig: Site): Promise<void> {
  const isAside = async (): Promise<boolean> => (await rig.batches()).some(({ state }) => state === "quarantined");
  await rig.until(isAside, LONGEST_HOURS);
  const { requests } = await rig.dispatcher.requests({ statuses: ["in_batch"] });
  expect(requests).toHaveLength(rig.ids.length);
  expect(rig.fake.batches()).toHaveLength(1);
}

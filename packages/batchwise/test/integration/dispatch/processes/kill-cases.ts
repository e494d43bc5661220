// Deaths by kill -9 at every named point of a batch's life, in a real process, over real sockets to
// the strict fake provider. Another process goes on: the test's own. Nothing is lost, nothing is
// recorded twice, nothing runs twice. A service that takes files and one that takes requests inline
// die at each point on each store. Each other service dies at each point once, on one store after
// the other; where it has several families of models, with one family after the other, and so do
// the records of OpenAI's shape. Each point is met on every store by four services or more.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { text } from "node:stream/consumers";
import { type FakeOptions, fakeGcs, fakeProvider, fakeS3 } from "batchwise/dispatch/testing";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { bundledProgram } from "../../../../../../scripts/bundled-program.ts";
import { makeFolder } from "../../../dispatch/stores/sqlite/folder.ts";
import { scratchFolder } from "../../../house/repository.ts";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import type { Place } from "../stores/open-store.ts";
import type { KillDeath } from "./kill-child.ts";
import { dispatchAll, isAtVertex, RECORDS, type Service } from "./kill-run.ts";

const CREATE_ANSWER_MS = 400;
/** Cases run at once: each spends most of its time waiting for leases to expire. */
const AT_ONCE = 8;
const LEASE_MS = 6_000;
/** Long enough that the surviving process loses no lease on a busy machine. */
const LONG_LEASE_MS = 20_000;

interface Death {
  readonly dieAt: string;
  readonly dieAtCount: number;
  readonly requests: number;
}

/** More than one chunk of results, where results are read. */
const MANY = 1_050;
const FEW = 60;
const DEATHS: readonly Death[] = [
  { dieAt: "after-intent", dieAtCount: 1, requests: FEW },
  { dieAt: "after-upload", dieAtCount: 1, requests: FEW },
  { dieAt: "create-sent", dieAtCount: 1, requests: FEW },
  { dieAt: "create-answered", dieAtCount: 1, requests: FEW },
  { dieAt: "mid-results", dieAtCount: 1, requests: MANY },
  { dieAt: "after-result-txn", dieAtCount: 2, requests: MANY },
  { dieAt: "after-delivery", dieAtCount: 3, requests: MANY },
];
/**
 * While requests move to a fallback account, and while the second of both accounts is sent a batch.
 */
const MOVING: readonly Death[] = [
  { dieAt: "moving-urgent", dieAtCount: 1, requests: FEW },
  { dieAt: "create-sent", dieAtCount: 2, requests: FEW },
];
const ON_ALL_STORES: readonly Service[] = ["openai", "anthropic"];
/** The families of one service stand together. */
const IN_TURN: readonly (readonly Service[])[] = [
  ...([["azure"], ["groq"], ["together"], ["gemini"], ["mistral"]] as const),
  ["vertex-gemini", "vertex-claude", "vertex-llama"],
  ["bedrock-claude", "bedrock-nova", "bedrock-llama", "bedrock-titan"],
  ...([["xai"], ["voyage"], ["bedrock-gpt-oss"], RECORDS] as const),
];
/** They share their steps with services above: `npm run prove` alone lets them die. */
export const ONLY_PROVED: readonly Service[] = ["voyage", "bedrock-gpt-oss", ...RECORDS];
const CREATES = [
  ...(["batches.create", "messages.create", "gemini.create"] as const),
  ...(["jobs.create", "invocationJobs.create", "vertex.create"] as const),
];
const DOWNLOADS = ["files.content", "messages.results", "geminiFiles.content", "objects.get"] as const;
type Dialect = NonNullable<FakeOptions["dialect"]>;
/** Services that the fake tells apart by its dialect. */
const DIALECTS: readonly string[] = [
  ...(["openai", "azure", "groq", "together", "mistral", "xai", "voyage"] as const),
  ...RECORDS,
] satisfies readonly Dialect[];

const KINDS: readonly Place["kind"][] = ["sqlite", "postgres", "redis"];
type Case = readonly [store: Place["kind"], service: Service, death: Death];

/** Every death on every store. */
export const allDeaths: readonly Case[] = [
  ...KINDS.flatMap((store) => [
    ...ON_ALL_STORES.flatMap((service) => DEATHS.map((death): Case => [store, service, death])),
    ...MOVING.map((death): Case => [store, "fallback", death]),
  ]),
  ...IN_TURN.flatMap((families, first) => DEATHS.map((death, at) => inTurn(families, first, death, at))),
];

/**
 * Every death on every store, of services in turn, and every service once at least. The fallback
 * dies its own deaths on every store.
 */
export const someDeaths: readonly Case[] = chosenOf(
  allDeaths.filter(([, service]) => !ONLY_PROVED.includes(service) && service !== "fallback"),
  allDeaths.filter(([, service]) => service === "fallback"),
);

function chosenOf(candidates: readonly Case[], first: readonly Case[]): Case[] {
  const chosen = [...first];
  const deathsOf = (of: Service): number => chosen.filter(([, service]) => service === of).length;
  for (const store of KINDS) {
    for (const death of DEATHS) {
      const meeting = candidates.filter((row) => row[0] === store && row[2] === death);
      const [least] = meeting.toSorted((a, b) => deathsOf(a[1]) - deathsOf(b[1]));
      if (least !== undefined) chosen.push(least);
    }
  }
  for (const row of candidates) if (deathsOf(row[1]) === 0) chosen.push(row);
  return chosen;
}

function inTurn(families: readonly Service[], first: number, death: Death, at: number): Case {
  return [KINDS[(first + at) % KINDS.length] as Place["kind"], families[at % families.length] as Service, death];
}

async function runChild(
  program: string,
  death: KillDeath,
): Promise<{ readonly signal: string | null; readonly told: string }> {
  const child = spawn(process.execPath, ["--no-warnings", program, JSON.stringify(death)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [told, [, signal]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { signal: signal as string | null, told };
}

/** A row of a test's table: the three things that its title names, then the death. */
export function titled(deaths: readonly Case[]): [string, string, string, Case][] {
  return deaths.map((row) => [row[0], row[1], row[2].dieAt, row]);
}

/**
 * Registers the hooks of a test file, and returns the function that lets a process die and another
 * go on.
 */
export function killer(): (row: Case) => Promise<void> {
  const folder = makeFolder();
  const bundle = scratchFolder("kill-child");
  let program: string;
  vi.setConfig({ maxConcurrency: AT_ONCE });
  beforeAll(async () => {
    program = await bundledProgram(new URL("kill-child.ts", import.meta.url), bundle);
  });
  afterAll(() => {
    folder.remove();
    rmSync(bundle, { recursive: true });
  });
  const stores: Readonly<Record<Place["kind"], () => Promise<Place>>> = {
    sqlite: async () => ({ kind: "sqlite", path: folder.file() }),
    postgres: async () => ({ kind: "postgres", config: await postgresPlace() }),
    redis: async () => ({ kind: "redis", ...(await redisPlace()) }),
  };
  return async ([kind, service, { dieAt, dieAtCount, requests }]) => {
    const plan = { validateMs: 100, runMs: 300, finalizeMs: 50 };
    const dialect = DIALECTS.includes(service) ? (service as Dialect) : "openai";
    const storage = isAtVertex(service) ? fakeGcs() : fakeS3();
    const fake = fakeProvider({ plan, dialect, listLagMs: 300, storage });
    fake.inject({ on: CREATES, replyDelayMs: CREATE_ANSWER_MS });
    // After one chunk of many results: settled requests stay settled when another process reads on.
    fake.inject({ on: DOWNLOADS, reply: { endAfterLines: requests - 40 } });
    const [server, bucket] = [await fake.listen(), await storage.listen()];
    const urls = { url: server.url, storageUrl: bucket.url };
    const work = { place: await stores[kind](), service, ...urls, requests, leaseMs: LEASE_MS };
    expect(await runChild(program, { ...work, dieAt, dieAtCount })).toEqual({ signal: "SIGKILL", told: "" });
    const report = await dispatchAll({ ...work, leaseMs: LONG_LEASE_MS }, () => {});
    await server.close();
    await bucket.close();
    expect(report).toMatchObject({ outcomes: requests, ids: requests, succeeded: requests });
    expect(report.batches.every((state) => state === "done")).toBe(true);
    const runs = [...fake.runs().values()];
    expect([runs.length, Math.max(...runs)]).toEqual([requests, 1]);
  };
}

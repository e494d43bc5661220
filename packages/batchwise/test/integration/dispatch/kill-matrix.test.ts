// kill -9 at every named point of a batch's life, in a real process, on every store and for every service that there is
// an account for, over real sockets to the strict fake provider. Another process goes on: the test's own. Nothing is
// lost, nothing is recorded twice, nothing runs twice. A service that takes files and one that takes requests inline die
// at each point on each store; each other service dies at each point too, on one store after the other.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type FakeOptions, fakeGcs, fakeProvider, fakeS3 } from "batchwise/dispatch/testing";
import { afterAll, describe, expect, test, vi } from "vitest";
import { makeFolder } from "../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace, redisPlace } from "../services/kept.ts";
import type { KillDeath } from "./kill-child.ts";
import { dispatchAll, isAtVertex, type Service } from "./kill-run.ts";
import type { Place } from "./open-store.ts";

const CREATE_ANSWER_MS = 400;
/** A case waits for leases to run out most of its time. */
const AT_ONCE = 8;
const LEASE_MS = 6_000;
/** Whoever goes on is not to lose a call because the machine is busy. */
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
/** While requests move to a fallback account, and while the second of both accounts is sent a batch. */
const MOVING: readonly Death[] = [
  { dieAt: "moving-urgent", dieAtCount: 1, requests: FEW },
  { dieAt: "create-sent", dieAtCount: 2, requests: FEW },
];
const ON_ALL_STORES: readonly Service[] = ["openai", "anthropic"];
const IN_TURN: readonly Service[] = [
  ...(["azure", "groq", "together", "gemini", "mistral"] as const),
  ...(["vertex-gemini", "vertex-claude", "vertex-llama"] as const),
];
const ON_SQLITE: readonly Service[] = ["bedrock-claude", "bedrock-nova", "bedrock-llama", "bedrock-titan"];
const CREATES = [
  ...(["batches.create", "messages.create", "gemini.create"] as const),
  ...(["jobs.create", "invocationJobs.create", "vertex.create"] as const),
];
const DOWNLOADS = ["files.content", "messages.results", "geminiFiles.content", "objects.get"] as const;
type Dialect = NonNullable<FakeOptions["dialect"]>;
/** Services that the fake tells apart by its dialect. */
const DIALECTS: readonly string[] = ["openai", "azure", "groq", "together", "mistral"] satisfies readonly Dialect[];

const folder = makeFolder();
vi.setConfig({ maxConcurrency: AT_ONCE });
afterAll(() => folder.remove());

const STORES: Readonly<Record<Place["kind"], () => Promise<Place>>> = {
  sqlite: async () => ({ kind: "sqlite", path: folder.file() }),
  postgres: async () => ({ kind: "postgres", config: await postgresPlace() }),
  redis: async () => ({ kind: "redis", ...(await redisPlace()) }),
};
const KINDS = Object.keys(STORES) as Place["kind"][];
type Case = readonly [store: Place["kind"], service: Service, deaths: readonly Death[]];
const CASES: readonly Case[] = KINDS.flatMap((store, place) => [
  ...ON_ALL_STORES.map((service): Case => [store, service, DEATHS]),
  ...IN_TURN.map(
    (service, first): Case => [store, service, DEATHS.filter((_, at) => (first + at) % KINDS.length === place)],
  ),
  [store, "fallback", MOVING],
  ...(store === "sqlite" ? ON_SQLITE.map((service): Case => [store, service, DEATHS]) : []),
]);

async function runChild(death: KillDeath): Promise<{ readonly signal: string | null; readonly told: string }> {
  const script = new URL("kill-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(death)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [told, [, signal]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { signal: signal as string | null, told };
}

describe.concurrent.each(CASES)("the %s store and %s", (kind, service, deaths) => {
  const named = deaths.map((death) => [death.dieAt, death] as const);
  test.concurrent.each(named)("killed at %s", async (dieAt, { dieAtCount, requests }) => {
    const plan = { validateMs: 100, runMs: 300, finalizeMs: 50 };
    const dialect = DIALECTS.includes(service) ? (service as Dialect) : "openai";
    const storage = isAtVertex(service) ? fakeGcs() : fakeS3();
    const fake = fakeProvider({ plan, dialect, listLagMs: 300, storage });
    fake.inject({ on: CREATES, replyDelayMs: CREATE_ANSWER_MS });
    // Past one chunk of many results: what is settled stays, whoever reads the rest.
    fake.inject({ on: DOWNLOADS, reply: { endAfterLines: requests - 40 } });
    const [server, bucket] = [await fake.listen(), await storage.listen()];
    const urls = { url: server.url, storageUrl: bucket.url };
    const work = { place: await STORES[kind](), service, ...urls, requests, leaseMs: LEASE_MS };
    expect(await runChild({ ...work, dieAt, dieAtCount })).toEqual({ signal: "SIGKILL", told: "" });
    const report = await dispatchAll({ ...work, leaseMs: LONG_LEASE_MS }, () => {});
    await server.close();
    await bucket.close();
    expect(report).toMatchObject({ outcomes: requests, ids: requests, succeeded: requests });
    expect(report.batches.every((state) => state === "done")).toBe(true);
    const runs = [...fake.runs().values()];
    expect([runs.length, Math.max(...runs)]).toEqual([requests, 1]);
  });
});

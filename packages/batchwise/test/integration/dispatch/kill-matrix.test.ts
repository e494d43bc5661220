// kill -9 at every named point of a batch's life, in a real process, on every store and for every service that there is
// an account for, over real sockets to the strict fake provider. Another process goes on: the test's own. Nothing is
// lost, nothing is recorded twice, nothing runs twice.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type FakeDialect, fakeProvider } from "batchwise/dispatch/testing";
import { afterAll, describe, expect, test, vi } from "vitest";
import { makeFolder } from "../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace, redisPlace } from "../services/kept.ts";
import type { KillDeath } from "./kill-child.ts";
import { dispatchAll, type Service } from "./kill-run.ts";
import type { Place } from "./open-store.ts";

/** More than one chunk of results. */
const REQUESTS = 1_050;
const CREATE_ANSWER_MS = 400;
/** A case waits for leases to run out most of its time. */
const AT_ONCE = 10;
const LEASE_MS = 6_000;
/** Whoever goes on is not to lose a call because the machine is busy. */
const LONG_LEASE_MS = 20_000;

const POINTS: readonly (readonly [string, number])[] = [
  ["after-intent", 1],
  ["after-upload", 1],
  ["create-sent", 1],
  ["create-answered", 1],
  ["mid-results", 1],
  ["after-result-txn", 2],
  ["after-delivery", 3],
];
/** On every store. */
const SERVICES: readonly Service[] = ["openai", "azure", "groq", "together", "anthropic"];
/** The steps are the same for every account, so for these one store shows that theirs fit. */
const ON_SQLITE: readonly Service[] = ["gemini"];
/** Ways in which OpenAI's wire format differs. */
const DIALECTS: readonly string[] = ["openai", "azure", "groq", "together"] satisfies readonly FakeDialect[];

const folder = makeFolder();
const compiled = folder.file();
vi.setConfig({ maxConcurrency: AT_ONCE });
afterAll(() => folder.remove());

const STORES: Readonly<Record<Place["kind"], () => Promise<Place>>> = {
  sqlite: async () => ({ kind: "sqlite", path: folder.file() }),
  postgres: async () => ({ kind: "postgres", config: await postgresPlace() }),
  redis: async () => ({ kind: "redis", ...(await redisPlace()) }),
};
const CASES = (Object.keys(STORES) as Place["kind"][]).flatMap((store) =>
  [...SERVICES, ...(store === "sqlite" ? ON_SQLITE : [])].map((service) => [store, service] as const),
);

async function runChild(death: KillDeath): Promise<{ readonly signal: string | null; readonly told: string }> {
  const script = new URL("kill-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(death)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  });
  const [told, [, signal]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { signal: signal as string | null, told };
}

describe.concurrent.each(CASES)("the %s store and %s", (kind, service) => {
  test.concurrent.each(POINTS)("killed at %s", async (dieAt, dieAtCount) => {
    const plan = { validateMs: 100, runMs: 300, finalizeMs: 50 };
    const dialect = DIALECTS.includes(service) ? (service as FakeDialect) : "openai";
    const fake = fakeProvider({ plan, dialect, listLagMs: 300 });
    fake.inject({ on: ["batches.create", "messages.create", "gemini.create"], replyDelayMs: CREATE_ANSWER_MS });
    // Past one chunk of results: what is settled stays, whoever reads the rest.
    const downloads = ["files.content", "messages.results", "geminiFiles.content"] as const;
    fake.inject({ on: downloads, reply: { endAfterLines: 1_010 } });
    const server = await fake.listen();
    const work = { place: await STORES[kind](), service, url: server.url, requests: REQUESTS, leaseMs: LEASE_MS };
    expect(await runChild({ ...work, dieAt, dieAtCount })).toEqual({ signal: "SIGKILL", told: "" });
    const report = await dispatchAll({ ...work, leaseMs: LONG_LEASE_MS }, () => {});
    await server.close();
    expect(report).toMatchObject({ outcomes: REQUESTS, ids: REQUESTS, succeeded: REQUESTS });
    expect(report.batches.every((state) => state === "done")).toBe(true);
    const runs = [...fake.runs().values()];
    expect([runs.length, Math.max(...runs)]).toEqual([REQUESTS, 1]);
  });
});

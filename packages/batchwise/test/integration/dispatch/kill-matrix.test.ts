// kill -9 at every named point of a batch's life, in a real process on every store, over real sockets to the strict fake
// provider. A second process goes on. Nothing is lost, nothing is recorded twice, nothing runs twice.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fakeProvider } from "batchwise/dispatch/testing";
import { afterAll, describe, expect, test } from "vitest";
import { makeFolder } from "../../dispatch/sqlite/folder.ts";
import { postgresPlace, redisPlace } from "../services/kept.ts";
import type { ChildReport, ChildWork } from "./dispatcher-child.ts";
import type { Place } from "./open-store.ts";

/** More than two chunks of results. */
const REQUESTS = 2_200;
const CREATE_ANSWER_MS = 400;

const POINTS: readonly (readonly [string, number])[] = [
  ["after-intent", 1],
  ["after-upload", 1],
  ["create-sent", 1],
  ["create-answered", 1],
  ["mid-results", 1],
  ["after-result-txn", 2],
  ["after-delivery", 3],
];

const folder = makeFolder();
afterAll(() => folder.remove());

const STORES: Readonly<Record<Place["kind"], () => Promise<Place>>> = {
  sqlite: async () => ({ kind: "sqlite", path: folder.file() }),
  postgres: async () => ({ kind: "postgres", config: await postgresPlace() }),
  redis: async () => ({ kind: "redis", ...(await redisPlace()) }),
};
const CASES = (Object.keys(STORES) as Place["kind"][]).flatMap((store) =>
  (["openai", "anthropic"] as const).map((provider) => [store, provider] as const),
);

async function runChild(work: ChildWork): Promise<{ readonly signal: string | null; readonly told: string }> {
  const script = new URL("dispatcher-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(work)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [told, [, signal]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { signal: signal as string | null, told };
}

describe.each(CASES)("the %s store and %s", (kind, provider) => {
  test.concurrent.each(POINTS)("killed at %s", async (dieAt, dieAtCount) => {
    const plan = { validateMs: 100, runMs: 300, finalizeMs: 50 };
    const fake = fakeProvider({ plan, listLagMs: 300 });
    fake.inject({ on: ["batches.create", "messages.create"], replyDelayMs: CREATE_ANSWER_MS });
    const server = await fake.listen();
    const place = await STORES[kind]();
    const work = { place, provider, url: server.url, requests: REQUESTS, dieAt, dieAtCount } as const;
    const first = await runChild(work);
    expect(first).toEqual({ signal: "SIGKILL", told: "" });
    const second = await runChild({ ...work, dieAt: null });
    await server.close();
    const report = JSON.parse(second.told) as ChildReport;
    expect(report).toMatchObject({ outcomes: REQUESTS, ids: REQUESTS, succeeded: REQUESTS });
    expect(report.batches.every((state) => state === "done")).toBe(true);
    const runs = [...fake.runs().values()];
    expect([runs.length, Math.max(...runs)]).toEqual([REQUESTS, 1]);
  });
});

// kill -9 at every named point of a batch's life, in a real process on a real file, over real sockets to the strict
// fake provider. A second process goes on. Nothing is lost, nothing is recorded twice, nothing runs twice.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fakeProvider } from "batchwise/dispatch/testing";
import { afterAll, describe, expect, test } from "vitest";
import { makeFolder } from "../../dispatch/sqlite/folder.ts";
import type { ChildReport, ChildWork } from "./dispatcher-child.ts";

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

async function runChild(work: ChildWork): Promise<{ readonly signal: string | null; readonly told: string }> {
  const script = new URL("dispatcher-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(work)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [told, [, signal]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { signal: signal as string | null, told };
}

describe.each(["openai", "anthropic"] as const)("the SQLite store and %s", (provider) => {
  test.concurrent.each(POINTS)("killed at %s", async (dieAt, dieAtCount) => {
    const plan = { validateMs: 100, runMs: 300, finalizeMs: 50 };
    const fake = fakeProvider({ plan, listLagMs: 300 });
    fake.inject({ on: ["batches.create", "messages.create"], replyDelayMs: CREATE_ANSWER_MS });
    const server = await fake.listen();
    const place = folder.file();
    const work = { store: "sqlite", place, provider, url: server.url, requests: REQUESTS, dieAt, dieAtCount } as const;
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

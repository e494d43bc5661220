// kill -9 of a process that runs lines itself, at every point of a batch's life and in the middle
// of the lines. Another process continues: nothing is lost and nothing is recorded twice. Only
// lines run twice that were running, or had ended in the last fifth of a second.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { ModelServer } from "../../../dispatch/providers/local/model-server.ts";
import { makeFolder } from "../../../dispatch/stores/sqlite/folder.ts";
import type { KillDeath } from "./kill-child.ts";
import { dispatchAll } from "./kill-run.ts";

const LINE_MS = 15;
const AT_ONCE = 8;
const LEASE_MS = 3_000;
/** A busy machine may hold back the transaction that settles what has ended. */
const UNSETTLED_MS = 600;
const MOST_TWICE = AT_ONCE + (UNSETTLED_MS / LINE_MS) * AT_ONCE;

const folder = makeFolder();
afterAll(() => folder.remove());

async function die(death: KillDeath): Promise<{ readonly signal: unknown; readonly told: string }> {
  const script = new URL("kill-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(death)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [told, [, signal]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { signal, told };
}

describe.concurrent("a process that runs lines itself", () => {
  test.concurrent.each([
    ["after-intent", 1, 60, 0],
    ["after-upload", 1, 60, 0],
    ["create-sent", 1, 60, 60],
    ["create-answered", 1, 60, 0],
    ["mid-results", 500, 1_000, MOST_TWICE],
    ["after-result-txn", 2, 400, MOST_TWICE],
    ["after-delivery", 1, 60, 60],
  ])("killed at %s (%i), of %i lines", async (dieAt, dieAtCount, requests, mostTwice) => {
    const model = new ModelServer(() => ({ delayMs: LINE_MS }));
    await model.start();
    const url = model.baseURL.replace("/v1", "");
    const place = { kind: "sqlite", path: folder.file() } as const;
    const work = { place, service: "local", url, storageUrl: "", requests, leaseMs: LEASE_MS } as const;
    expect(await die({ ...work, dieAt, dieAtCount })).toEqual({ signal: "SIGKILL", told: "" });
    const report = await dispatchAll(work, () => {});
    await model.stop();
    expect(report).toMatchObject({ outcomes: requests, ids: requests, succeeded: requests });
    expect(report.batches.every((state) => state === "done")).toBe(true);
    const counts = [...model.asked.values()];
    expect([counts.length, Math.max(...counts)]).toEqual([requests, mostTwice === 0 ? 1 : expect.any(Number)]);
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
    expect(counts.filter((count) => count > 1).length).toBeLessThanOrEqual(mostTwice);
  });
});

// The example in examples/queues: durable jobs of BullMQ, pg-boss and graphile-worker on real
// servers, sent in common requests by a worker whose handler submits to a batcher. A job is
// acknowledged after its own result, and not before.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { built, root } from "../../../../packages/batchwise/test/house/repository.ts";
import { postgresPlace, redisPlace } from "../../../../packages/batchwise/test/integration/services/kept.ts";
import type { GraphileQueue } from "../../examples/queues/graphile-queue.ts";
import { mailBatcher } from "../../examples/queues/mail-batcher.ts";
import type { MailQueue } from "../../examples/queues/mail-queue.ts";
import { type MailService, startMailService } from "../../examples/queues/practice-mail-service.ts";
import { openMailQueue, type QueuePlace } from "./open-mail-queue.ts";
import type { QueueWork } from "./queue-child.ts";

/** Two full batches that run, and one that gathers. */
const JOBS = 600;
const MOST_MS = 60_000;
const NAMES = ["bullmq", "pg-boss", "graphile-worker"] as const;

beforeAll(() => void built("index.js"));

async function placeOf(name: QueuePlace["name"]): Promise<QueuePlace> {
  if (name === "bullmq") return { name, ...(await redisPlace()) };
  const config = await postgresPlace();
  return { name, config, schema: `${config.application_name}_queue` };
}

async function opened(place: QueuePlace): Promise<MailQueue> {
  const queue = await openMailQueue(place);
  onTestFinished(() => queue.close());
  return queue;
}

async function service(isHeld?: (request: number) => boolean): Promise<MailService> {
  const mails = await startMailService(20, isHeld);
  onTestFinished(() => mails.close());
  return mails;
}

async function sendAll(queue: MailQueue, { url }: MailService, jobs = JOBS): Promise<void> {
  const batcher = mailBatcher(url);
  const work = await queue.work(batcher, jobs);
  await until(async () => (await queue.counts()).open === 0);
  await work.stop();
  await batcher.close();
}

const receivers = (count: number): string[] => Array.from({ length: count }, (_, n) => `reader@${n}.example`);
const mailsTo = (all: readonly string[]) => all.map((to) => ({ to, text: "The news." }));

async function until(happened: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + MOST_MS; Date.now() < end; await sleep(20)) if (await happened()) return;
  throw new Error("It did not happen in time.");
}

function startChild(work: QueueWork): ChildProcess {
  const script = new URL("queue-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(work)], { stdio: "inherit" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

describe.each(NAMES)("a worker of %s that submits to a batcher", (name) => {
  test("sends many jobs in few requests, and each has its own outcome", async () => {
    const [queue, mails] = [await opened(await placeOf(name)), await service()];
    const all = receivers(1_000).map((to, n) => (n % 100 === 7 ? `nobody@${n}.example` : to));
    await queue.add(mailsTo(all));
    await sendAll(queue, mails);
    expect(await queue.counts()).toEqual({ open: 0, failed: 10 });
    const sent = mails.answered.filter((to) => to.startsWith("reader"));
    expect([sent.length, new Set(sent).size]).toEqual([990, 990]);
    expect(mails.requests.length).toBeLessThan(50);
  });

  test("has batches of at most as many jobs as it holds", async () => {
    const [queue, mails] = [await opened(await placeOf(name)), await service()];
    await queue.add(mailsTo(receivers(120)));
    await sendAll(queue, mails, 30);
    const sizes = mails.requests.map(({ length }) => length);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(120);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(30);
  });

  test("killed by SIGKILL, it has acknowledged the jobs that had their results, and another sends the others", async () => {
    const place = await placeOf(name);
    const queue = await opened(place);
    // Two requests are answered. Those after them hang until the process is dead.
    let isDead = false;
    const mails = await service((request) => request >= 2 && !isDead);
    const all = receivers(1_000);
    await queue.add(mailsTo(all));
    const child = startChild({ place, url: mails.url, jobs: JOBS });
    await until(() => mails.requests.length >= 4);
    const before = [...mails.answered];
    await until(async () => (await queue.counts()).open === all.length - before.length);
    child.kill("SIGKILL");
    expect(await once(child, "close")).toEqual([null, "SIGKILL"]);
    expect((await queue.counts()).open).toBe(all.length - before.length);

    isDead = true;
    if ("unlock" in queue) await (queue as GraphileQueue).unlock();
    await sendAll(queue, mails);
    expect(await queue.counts()).toEqual({ open: 0, failed: 0 });
    expect(mails.answered.toSorted()).toEqual(all.toSorted());
    const asked = mails.requests.flat().map(({ to }) => to);
    expect(before.map((to) => asked.filter((each) => each === to).length)).toEqual(before.map(() => 1));
    expect(asked.length).toBeGreaterThan(all.length);
  });

  test("runs as the example does", async () => {
    const [{ port: redis }, { port, user }] = [await redisPlace(), await postgresPlace()];
    const DATABASE_URL = `postgres://${user}@127.0.0.1:${port}/postgres`;
    const env = { ...process.env, DATABASE_URL, REDIS_URL: `redis://127.0.0.1:${redis}` };
    const args = ["--disable-warning=ExperimentalWarning", `${root}compat/frameworks/examples/queues/main.ts`, name];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: MOST_MS, env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^1000 jobs: 990 sent, 10 failed, in \d{1,2} requests\n$/);
  });
});

describe("a worker that holds fewer jobs than its batches have places for", () => {
  const warningsOf = async (jobs: number, change: object = {}): Promise<string[]> => {
    const warnings: string[] = [];
    const note = ({ name, message }: Error): void => void (name === "JobsBoundBatches" && warnings.push(message));
    process.on("warning", note);
    const queue = await opened(await placeOf("bullmq"));
    const batcher = mailBatcher("http://127.0.0.1:1/");
    batcher.configure(change);
    await (await queue.work(batcher, jobs)).stop();
    process.off("warning", note);
    await batcher.close();
    return warnings;
  };

  test("warns that it bounds the batches, and says how many it should hold", async () => {
    const [warning, ...more] = await warningsOf(50);
    expect(more).toEqual([]);
    expect(warning).toContain("holds 50 jobs at a time, so 2 batches at a time have about 25 items each, not the 200");
    expect(warning).toContain("Let it hold 600");
  });

  test("does not warn where it holds enough, or where batches have no bound", async () => {
    expect(await warningsOf(400)).toEqual([]);
    expect(await warningsOf(50, { maxBatchSize: 25 })).toEqual([]);
    expect(await warningsOf(50, { maxBatchSize: Number.POSITIVE_INFINITY })).toEqual([]);
  });
});

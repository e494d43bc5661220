// A large backlog on one Postgres database leaves through two processes with the default
// thresholds, also when one of them is killed on the way. The times are those of a quiet machine.
// Takes some ten minutes and 3 GB of disk.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { Store } from "../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../src/dispatch/dispatcher.ts";
import { openaiAccount } from "../src/dispatch/providers/openai/index.ts";
import { openStore, type Place } from "../test/integration/dispatch/stores/open-store.ts";
import { postgresPlace } from "../test/integration/services/kept.ts";
import type { BacklogWork } from "./backlog-child.ts";
import { type LineProvider, startLineProvider } from "./line-provider.ts";

/** PROVE_ROWS=50000 for a first look. */
const BACKLOG = Number(process.env.PROVE_ROWS ?? 500_000);
const SMALL = Number(process.env.PROVE_ROWS ?? 120_000);
const BODY_BYTES = 2_000;
const CHUNK = 1_000;
const MINUTE = 60_000;
const LEAST_A_SECOND = 5_000;

/** An id between two @ and words, so that no database compresses it much. */
function text(n: number): string {
  const drawn = Array.from({ length: BODY_BYTES / 7 }, () => Math.random().toString(36).slice(2, 8));
  return `@r${n}@ ${drawn.join(" ")}`;
}

async function enqueue(store: Store, provider: LineProvider, count: number): Promise<void> {
  const client = new OpenAI({ apiKey: "key", baseURL: `${provider.url}/v1` });
  const accounts = [openaiAccount({ client })];
  const dispatcher = createDispatcher({ store, accounts });
  for (let from = 0; from < count; from += CHUNK) {
    const some = Array.from({ length: CHUNK }, (_, n) => ({
      id: `r${from + n}`,
      body: { model: "gpt-4o-mini", messages: [{ role: "user", content: text(from + n) }] },
    }));
    await dispatcher.enqueueMany(some);
  }
  await dispatcher.stop();
}

async function start(work: BacklogWork): Promise<ChildProcess> {
  const script = new URL("backlog-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(work)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout as NonNullable<ChildProcess["stdout"]>, "data");
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.stdin?.end();
  await closed;
}

interface Passage {
  readonly ms: number;
  /** Outcomes a second in the best minute, or in all of the time where that is less. */
  readonly best: number;
}

/** Waits for all outcomes, and calls `each` now and then with how many there are. */
async function passage(store: Store, count: number, each: (done: number) => void): Promise<Passage> {
  const begun = performance.now();
  const seen: { readonly at: number; readonly done: number }[] = [];
  for (;;) {
    const { cursor } = await store.probe(1, Date.now());
    const at = performance.now() - begun;
    seen.push({ at, done: cursor });
    each(cursor);
    if (cursor >= count) {
      const span = Math.min(MINUTE, at);
      const rates = seen.map((one) => {
        const before = seen.findLast(({ at: earlier }) => earlier <= one.at - span) ?? { at: 0, done: 0 };
        return ((one.done - before.done) * 1_000) / Math.max(span, one.at - before.at);
      });
      return { ms: at, best: Math.max(...rates) };
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function onceEach(provider: LineProvider, count: number): void {
  expect(provider.runs.size).toBe(count);
  expect([...provider.runs.values()].filter((runs) => runs !== 1)).toEqual([]);
}

test("500,000 requests of 2 KB are sent at 5,000 a second through two processes, and no upload is cut", async () => {
  const provider = await startLineProvider();
  const place: Place = { kind: "postgres", config: await postgresPlace() };
  const { store, end } = await openStore(place);
  await enqueue(store, provider, BACKLOG);
  const work = { place, url: provider.url, leaseMs: 90_000 };
  const children = await Promise.all([start(work), start(work)]);
  const { ms, best } = await passage(store, BACKLOG, () => {});
  process.stdout.write(`${BACKLOG} in ${(ms / 1_000).toFixed(1)} s, best minute ${Math.round(best)} a second\n`);
  await Promise.all(children.map(stop));
  await store.close();
  await end();
  await provider.close();
  onceEach(provider, BACKLOG);
  expect(provider.cutUploads()).toBe(0);
  expect(best).toBeGreaterThan(LEAST_A_SECOND);
});

test("120,000 requests end in 110 s, each run once, though one of two processes is killed", async () => {
  const provider = await startLineProvider();
  const place: Place = { kind: "postgres", config: await postgresPlace() };
  const { store, end } = await openStore(place);
  await enqueue(store, provider, SMALL);
  const work = { place, url: provider.url, leaseMs: 20_000 };
  const [one, other] = await Promise.all([start(work), start(work)]);
  let isKilled = false;
  const { ms } = await passage(store, SMALL, (done) => {
    if (isKilled || done < SMALL / 10) return;
    isKilled = true;
    one.kill("SIGKILL");
  });
  process.stdout.write(`${SMALL} with a kill in ${(ms / 1_000).toFixed(1)} s\n`);
  await Promise.all([one, other].map(stop));
  await store.close();
  await end();
  await provider.close();
  onceEach(provider, SMALL);
  expect(isKilled).toBe(true);
  expect(ms).toBeLessThan(110_000);
});

/**
 * Measures pacing, which the library does not do: while another batch runs, the next one starts no
 * earlier than the mean run time divided by the slots after the last start, as long as its items
 * take less than 0.8 of the fixed time. A limiter holds the batches. First by simulation, with
 * slots that do not slow each other; then over HTTP to a server with a fixed time per call; then on
 * the service's encoder, in two threads that share the cores.
 *
 *   node bench/pacing.ts              prints paced ÷ not paced, some minutes
 *   node bench/pacing.ts encoder      one part: simulated, remote, encoder
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBatcher, type LimiterClient, type RateLimiter } from "batchwise";
import { simulate } from "batchwise/simulate";
import { normal, randomOf } from "../packages/batchwise/src/simulate/random.ts";
import { Embedder } from "../packages/server/src/models/embedder.ts";

interface Clock {
  now(): number;
  setTimeout(callback: () => void, delayMs: number): unknown;
}

const FIXED_PART = 0.8;

/** Grants the batches of one batcher, paced or at once. */
class Pace implements RateLimiter {
  readonly #clock: Clock;
  /** Items below this number are paced. */
  readonly #small: number;
  readonly #slots: number;
  readonly #isPaced: boolean;
  #running = 0;
  #meanMs = 0;
  #lastAt = -Infinity;
  #waiting: LimiterClient | null = null;

  constructor(clock: Clock, small: number, slots: number, isPaced: boolean) {
    this.#clock = clock;
    this.#small = small;
    this.#slots = slots;
    this.#isPaced = isPaced;
  }

  reserve(client: LimiterClient, cost: number): { granted: true; cost: number } | { granted: false } {
    const now = this.#clock.now();
    const nextAt = this.#lastAt + this.#meanMs / this.#slots;
    if (!this.#isPaced || this.#running === 0 || cost >= this.#small || now >= nextAt - 1e-6) {
      this.#lastAt = now;
      return { granted: true, cost };
    }
    this.#waiting = client;
    this.#clock.setTimeout(() => this.#retry(), nextAt - now);
    return { granted: false };
  }

  started(): void {
    this.#running += 1;
  }

  ended(runMs: number): void {
    this.#running -= 1;
    this.#meanMs += (runMs - this.#meanMs) / (this.#meanMs === 0 ? 1 : 32);
    if (this.#running === 0) this.#retry();
  }

  #retry(): void {
    const client = this.#waiting;
    this.#waiting = null;
    client?.retry();
  }

  withdraw(): void {
    this.#waiting = null;
  }

  giveBack(): void {}

  hold(): void {}
}

interface Times {
  readonly mean: number;
  readonly p99: number;
}

const SIZE = 32;
const capacity = (fixedMs: number, itemMs: number, slots: number): number =>
  (1_000 * slots * SIZE) / (fixedMs + itemMs * SIZE);

async function simulated(fixedMs: number, itemMs: number, slots: number, load: number, isPaced: boolean) {
  let pace!: Pace;
  let clock!: Clock;
  const random = randomOf(2, 0);
  const perSecond = load * capacity(fixedMs, itemMs, slots);
  const runMs = ({ size, atMs }: { readonly size: number; readonly atMs: number }): number => {
    const ms = (fixedMs + itemMs * size) * Math.exp(0.1 * normal(random));
    // The bound is computed from runs at the time 0.
    if (atMs > 0) {
      pace.started();
      clock.setTimeout(() => pace.ended(ms), ms);
    }
    return ms;
  };
  const { latencyMs } = await simulate({
    arrivals: { kind: "poisson", perSecond },
    service: { kind: "function", runMs },
    options: (given: Clock) => {
      clock = given;
      pace = new Pace(clock, (FIXED_PART * fixedMs) / itemMs, slots, isPaced);
      return { concurrency: slots, maxBatchSize: SIZE, limiter: pace, clock: given } as never;
    },
    durationMs: (1_000 * 20_000) / perSecond,
    warmUpMs: (1_000 * 2_000) / perSecond,
  });
  return latencyMs;
}

interface Remote {
  /** Runs a batch of `size` items. */
  readonly call: (size: number) => Promise<unknown>;
  readonly slots: number;
  readonly perSecond: number;
  /** Items below this number are paced. */
  readonly small: number;
}

/** Poisson arrivals in real time. */
async function inRealTime({ call, slots, perSecond, small }: Remote, isPaced: boolean): Promise<Times> {
  const clock: Clock = { now: () => performance.now(), setTimeout: (callback, ms) => setTimeout(callback, ms) };
  const pace = new Pace(clock, small, slots, isPaced);
  const handler = async (items: number[]): Promise<number[]> => {
    const startedAt = performance.now();
    pace.started();
    await call(items.length);
    pace.ended(performance.now() - startedAt);
    return items;
  };
  const batcher = createBatcher(handler, { concurrency: slots, maxBatchSize: SIZE, limiter: pace });
  const random = randomOf(1, 0);
  const latencies: number[] = [];
  const answers: Promise<unknown>[] = [];
  const startedAt = performance.now();
  let at = 0;
  while (at < 4_000) {
    at -= (1_000 * Math.log(1 - random())) / perSecond;
    const pauseMs = startedAt + at - performance.now();
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const submittedAt = performance.now();
    answers.push(batcher.submit(1).then(() => latencies.push(performance.now() - submittedAt)));
  }
  await Promise.all(answers);
  await batcher.close();
  latencies.sort((a, b) => a - b);
  const mean = latencies.reduce((sum, one) => sum + one, 0) / latencies.length;
  return { mean, p99: latencies[Math.floor(0.99 * latencies.length)] as number };
}

function print(what: string, plain: Times, paced: Times): void {
  const ratio = (of: keyof Times): string => (paced[of] / plain[of]).toFixed(3);
  process.stdout.write(`${what}: mean ${ratio("mean")}, p99 ${ratio("p99")}\n`);
}

/** Rounds in real time, paced and not paced in turns. */
async function compare(what: string, remote: Remote, rounds: number): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    const plain = await inRealTime(remote, false);
    print(`${what}, round ${round}`, plain, await inRealTime(remote, true));
  }
}

async function simulateAll(): Promise<void> {
  for (const [fixedMs, itemMs] of [
    [20, 1],
    [20, 0.2],
  ] as const) {
    for (const slots of [2, 4, 8]) {
      for (const load of [0.1, 0.3, 0.5]) {
        const plain = await simulated(fixedMs, itemMs, slots, load, false);
        const what = `simulated, ${fixedMs} + ${itemMs} n, ${slots} slots, load ${load}`;
        print(what, plain, await simulated(fixedMs, itemMs, slots, load, true));
      }
    }
  }
}

async function overHttp(): Promise<void> {
  const [fixedMs, itemMs] = [40, 1];
  const server = createServer((asked, answer) => {
    let body = "";
    asked.on("data", (part) => (body += String(part)));
    asked.on("end", () => setTimeout(() => answer.end("ok"), fixedMs + itemMs * Number(body)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const call = async (size: number): Promise<string> =>
    (await fetch(url, { method: "POST", body: String(size) })).text();
  for (const slots of [4, 8]) {
    for (const load of [0.2, 0.4]) {
      const perSecond = load * capacity(fixedMs, itemMs, slots);
      const remote = { call, slots, perSecond, small: (FIXED_PART * fixedMs) / itemMs };
      await compare(`remote, ${fixedMs} + ${itemMs} n, ${slots} slots, load ${load}`, remote, 3);
    }
  }
  server.closeAllConnections();
  server.close();
}

/** The least time of a call, which other work on the machine does not lengthen. */
async function timeOf(call: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 100; round += 1) {
    const startedAt = performance.now();
    await call();
    least = Math.min(least, performance.now() - startedAt);
  }
  return least;
}

/**
 * Runs texts of 8 tokens, where the fixed part of a run is largest compared with an item's part.
 */
async function onEncoder(): Promise<void> {
  const slots = 2;
  const folder = await mkdtemp(join(tmpdir(), "pacing-"));
  const embedder = await Embedder.open({ modelDirectory: folder, workers: slots });
  const [tokenized] = await embedder.tokenize(["grey rain on the red bricks"]);
  const text = tokenized?.ids as number[];
  const call = (size: number): Promise<unknown> => embedder.embed(Array<number[]>(size).fill(text));
  await timeOf(() => call(SIZE));
  const [one, full] = [await timeOf(() => call(1)), await timeOf(() => call(SIZE))];
  const itemMs = (full - one) / (SIZE - 1);
  const fixedMs = Math.max(0, one - itemMs);
  const small = (FIXED_PART * fixedMs) / itemMs;
  const line = `${fixedMs.toFixed(2)} + ${itemMs.toFixed(3)} n`;
  process.stdout.write(`encoder: ${line}, paced below ${small.toFixed(1)} items\n`);
  // Skipped below 1 item: no batch would be paced, so both runs would be equal.
  for (const load of small > 1 ? [0.1, 0.3] : []) {
    const perSecond = (load * capacity(fixedMs, itemMs, slots)) / slots;
    await compare(`encoder, ${line}, load ${load}`, { call, slots, perSecond, small }, 5);
  }
  await embedder.close();
  await rm(folder, { recursive: true });
}

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  simulated: simulateAll,
  remote: overHttp,
  encoder: onEncoder,
};
for (const [name, measure] of Object.entries(PARTS)) {
  if (process.argv.length < 3 || process.argv.includes(name)) await measure();
}

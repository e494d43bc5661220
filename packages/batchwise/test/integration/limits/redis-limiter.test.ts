// Limits that processes share, on a real Redis, by the clients of ioredis and node-redis.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createBatcher, type LimiterAnswer, type LimiterClient, type RateLimiter } from "batchwise";
import { type RedisRateLimiterOptions, redisRateLimiter } from "batchwise/limits/redis";
import type { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { redisPlace } from "../services/kept.ts";
import { clientAt } from "../services/redis.ts";
import type { LimiterWork } from "./limiter-child.ts";

const CHILD = fileURLToPath(new URL("limiter-child.ts", import.meta.url));

let keys = 0;
/** A Redis, and a key that no other test has. */
async function place() {
  const { port, prefix } = await redisPlace();
  keys += 1;
  return { port, key: `${prefix}-limit-${process.pid}-${keys}` };
}

/** A client that is connected. */
async function ioredis(port: number): Promise<Redis> {
  const client = clientAt(port);
  onTestFinished(() => client.disconnect());
  await client.ping();
  return client;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Takes what it gets until it is stopped, a piece a time, and counts. */
class Taker implements LimiterClient {
  granted = 0;
  readonly #limiter: RateLimiter;
  readonly #piece: number;
  #isStopped = false;

  constructor(limiter: RateLimiter, piece: number) {
    this.#limiter = limiter;
    this.#piece = piece;
    onTestFinished(() => this.stop());
  }

  retry(): void {
    void this.#take(this.#limiter.reserve(this, this.#piece));
  }

  stop(): void {
    this.#isStopped = true;
    this.#limiter.withdraw(this);
  }

  async #take(answer: LimiterAnswer | PromiseLike<LimiterAnswer>): Promise<void> {
    const { granted, ...rest } = await answer;
    if (!granted || this.#isStopped) return;
    this.granted += (rest as { cost: number }).cost;
    setImmediate(() => {
      if (!this.#isStopped) this.retry();
    });
  }
}

test("eight processes use at least 97 % of a limit together, and at most 0.1 % more than it allows", async () => {
  const { port, key } = await place();
  const runMs = 4_000;
  const perSecond = 1_000;
  const works = Array.from({ length: 8 }, (_, index): LimiterWork => {
    const client = index % 2 === 0 ? "ioredis" : "node-redis";
    return { port, client, key, costPerMinute: perSecond * 60, maxBatchSize: 20, runMs };
  });
  const children = works.map((work) => start(work));
  for (const child of children) expect(await child.line()).toBe("ready");
  const beganAt = Date.now();
  for (const child of children) child.begin();
  const granted = await Promise.all(children.map(async (child) => Number(await child.line())));
  const sum = granted.reduce((left, right) => left + right, 0);
  // All began within `beganLateMs`, and the bucket was full: a second's worth.
  const beganLateMs = Math.min(200, Date.now() - beganAt - runMs);
  const allowed = (perSecond * (runMs + Math.max(0, beganLateMs))) / 1_000 + perSecond;
  expect(sum).toBeLessThanOrEqual(allowed * 1.001);
  expect(sum - perSecond).toBeGreaterThanOrEqual(0.97 * perSecond * (runMs / 1_000));
  // They were served in turn.
  for (const share of granted) expect(share).toBeGreaterThan(sum / 8 / 4);
}, 30_000);

interface Child {
  line(): Promise<string>;
  begin(): void;
}

function start(work: LimiterWork): Child {
  const child: ChildProcess = spawn(process.execPath, ["--no-warnings", CHILD, JSON.stringify(work)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  if (child.stdout === null) throw new Error("The child has no output.");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return { line: async () => String((await lines.next()).value), begin: () => child.stdin?.write("begin\n") };
}

test.each(["ioredis", "node-redis"] as const)(
  "a batcher keeps a limit of calls with a client of %s",
  async (library) => {
    const { port, key } = await place();
    const nodeRedis = createClient({ url: `redis://127.0.0.1:${port}` });
    if (library === "node-redis") await nodeRedis.connect();
    onTestFinished(() => {
      if (nodeRedis.isOpen) nodeRedis.destroy();
    });
    const client = library === "ioredis" ? await ioredis(port) : nodeRedis;
    const limiter = redisRateLimiter({ client, key, callsPerMinute: 1_200, burstMs: 100 });
    const calls: number[] = [];
    const batcher = createBatcher(
      (items: number[]) => {
        calls.push(performance.now());
        return items;
      },
      { limiter, maxBatchSize: 1 },
    );
    const items = Array.from({ length: 8 }, (_, index) => index);
    expect(await batcher.submitMany(items)).toEqual(items);
    await batcher.close();
    // Two were there; the other six come every 50 ms.
    expect((calls.at(-1) ?? 0) - (calls[0] ?? 0)).toBeGreaterThan(6 * 50 - 20);
  },
);

test("what waits grows meanwhile, and is cut to a full bucket", async () => {
  const { port, key } = await place();
  const limiter = redisRateLimiter({ client: await ioredis(port), key, costPerMinute: 6_000, burstMs: 100 });
  const sizes: number[] = [];
  const batcher = createBatcher(
    (items: number[]) => {
      sizes.push(items.length);
      return items;
    },
    { limiter, maxBatchSize: 100 },
  );
  await batcher.submitMany(Array.from({ length: 25 }, (_, index) => index));
  await batcher.close();
  expect(sizes).toEqual([10, 10, 5]);
});

test("a pause that the provider asks for holds every process", async () => {
  const { port, key } = await place();
  const options = { key, callsPerMinute: 60_000 };
  const first = redisRateLimiter({ ...options, client: await ioredis(port) });
  const second = redisRateLimiter({ ...options, client: await ioredis(port) });
  first.hold(400);
  await pause(50);
  const taker = new Taker(second, 1);
  taker.retry();
  await pause(200);
  expect(taker.granted).toBe(0);
  await pause(350);
  expect(taker.granted).toBeGreaterThan(0);
});

test("what a batch did not use goes back, and a debt is paid by all", async () => {
  const { port, key } = await place();
  const options = { key, costPerMinute: 60_000, burstMs: 100 };
  const first = redisRateLimiter({ ...options, client: await ioredis(port) });
  const second = redisRateLimiter({ ...options, client: await ioredis(port) });
  const client: LimiterClient = { retry: () => {} };
  expect(await first.reserve(client, 100)).toEqual({ granted: true, cost: 100 });
  first.giveBack(0, 100);
  await pause(20);
  expect(await second.reserve(client, 100)).toEqual({ granted: true, cost: 100 });
  second.giveBack(0, -500);
  const startedAt = performance.now();
  const taker = new Taker(first, 1);
  taker.retry();
  while (taker.granted === 0) await pause(5);
  expect(performance.now() - startedAt).toBeGreaterThan(400);
});

test("processes that ask later do not overtake one that waits for much", async () => {
  const { port, key } = await place();
  const options = { key, costPerMinute: 60_000, burstMs: 500 };
  const make = async () => redisRateLimiter({ ...options, client: await ioredis(port) });
  const small = [new Taker(await make(), 10), new Taker(await make(), 10)];
  for (const taker of small) taker.retry();
  await pause(200);
  const startedAt = performance.now();
  const large = new Taker(await make(), 400);
  large.retry();
  while (large.granted === 0) await pause(5);
  // 0.4 s for itself, and what the two had asked for before.
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

/** A way to Redis that can be cut. */
class Wire {
  readonly #server: Server;
  readonly #sockets: Set<Socket> = new Set();
  port = 0;
  isCut = false;

  constructor(to: number) {
    this.#server = createServer((socket) => {
      if (this.isCut) {
        socket.destroy();
        return;
      }
      const further = connect(to, "127.0.0.1");
      for (const [one, other] of [
        [socket, further],
        [further, socket],
      ] as const) {
        this.#sockets.add(one);
        one.on("error", () => {});
        one.on("close", () => other.destroy());
        one.pipe(other);
      }
    });
    onTestFinished(() => {
      this.cut();
      this.#server.close();
    });
  }

  async open(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.port = (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }
}

test("without Redis the processes go on with equal shares within a second, one that starts takes its share, and all come back", async () => {
  const { port, key } = await place();
  const wire = new Wire(port);
  await wire.open();
  const perSecond = 1_000;
  const states: string[] = [];
  const options = { key, costPerMinute: perSecond * 60, burstMs: 200 };
  const make = async (): Promise<Taker> => {
    const client = await ioredis(wire.port);
    return new Taker(redisRateLimiter({ ...options, client, onState: (state) => states.push(state) }), 5);
  };
  /** One whose client has never been connected. */
  const begin = (more: Partial<RedisRateLimiterOptions>): Taker => {
    const client = clientAt(wire.port);
    onTestFinished(() => client.disconnect());
    return new Taker(redisRateLimiter({ ...options, client, ...more }), 5);
  };
  const takers = [await make(), await make(), await make(), await make()];
  for (const taker of takers) taker.retry();
  await pause(800);
  const sum = (): number => takers.reduce((total, { granted }) => total + granted, 0);

  wire.cut();
  await pause(1_000);
  expect(states).toEqual(["shares", "shares", "shares", "shares"]);
  const cutAt = performance.now();
  const before = takers.map(({ granted }) => granted);
  const [late, blind] = [begin({ processes: 10 }), begin({})];
  late.retry();
  blind.retry();
  await pause(1_500);
  const seconds = (performance.now() - cutAt) / 1_000;
  for (const [index, { granted }] of takers.entries()) {
    const rate = (granted - (before[index] ?? 0)) / seconds;
    expect(rate).toBeGreaterThan(0.9 * (perSecond / 4));
    expect(rate).toBeLessThan(1.1 * (perSecond / 4));
  }
  expect(late.granted / seconds).toBeLessThan(1.1 * (perSecond / 10));
  expect(late.granted / seconds).toBeGreaterThan(0.5 * (perSecond / 10));
  expect(blind.granted).toBe(0);
  late.stop();
  blind.stop();

  wire.isCut = false;
  const returnedAt = performance.now();
  const atReturn = sum();
  while (states.filter((state) => state === "redis").length < 4) await pause(10);
  await pause(2_000);
  const allowed = (perSecond * (performance.now() - returnedAt)) / 1_000;
  expect(sum() - atReturn).toBeLessThan(allowed * 1.001 + perSecond * 0.3);
  // Half a second without grants is in it, in which others might have used their shares.
  expect(sum() - atReturn).toBeGreaterThan(perSecond);
}, 30_000);

test("a process that loses Redis alone goes on beside the others with its share, and comes back", async () => {
  const { port, key } = await place();
  const wire = new Wire(port);
  await wire.open();
  const options = { key, costPerMinute: 60_000, burstMs: 200 };
  const alone = new Taker(redisRateLimiter({ ...options, client: await ioredis(wire.port) }), 5);
  const direct = async () => new Taker(redisRateLimiter({ ...options, client: await ioredis(port) }), 5);
  const others = [await direct(), await direct(), await direct()];
  const startedAt = performance.now();
  for (const taker of [alone, ...others]) taker.retry();
  await pause(500);
  wire.cut();
  await pause(1_000);
  wire.isCut = false;
  await pause(1_500);
  const seconds = (performance.now() - startedAt) / 1_000;
  const sum = [alone, ...others].reduce((total, { granted }) => total + granted, 0);
  // A quarter of the limit too much, while it was alone.
  expect(sum).toBeLessThan(1_000 * seconds + 200 + 250 * 2);
  expect(sum).toBeGreaterThan(1_000 * seconds * 0.85);
}, 30_000);

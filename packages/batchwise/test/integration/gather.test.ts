// Gathering with real sockets: callers in this process, each with a connection of its own, whose
// requests arrive in one pass of the event loop and in as many turns.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type BatchOptions, createBatcher, type HandlerFunction } from "batchwise";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gate, range } from "../support.ts";

const CLIENTS = 24;
const ROUNDS = 5;

const opened: (Server | Socket)[] = [];

afterEach(() => {
  for (const one of opened.splice(0)) {
    if ("destroy" in one) one.destroy();
    else one.close();
  }
});

/**
 * Connections to a server that answers each line with the batcher's answer to it. All of them are
 * accepted.
 */
async function connectAll(submit: (line: string) => Promise<string>): Promise<Socket[]> {
  const accepted = gate();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    if (connections === CLIENTS) accepted.open();
    socket.setNoDelay(true).setEncoding("utf8");
    socket.on("data", (line: string) => {
      submit(line).then((answer) => socket.write(answer));
    });
  });
  opened.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sockets = range(CLIENTS).map(() => connect(port, "127.0.0.1").setNoDelay(true).setEncoding("utf8"));
  opened.push(...sockets);
  await accepted.promise;
  return sockets;
}

async function ask(socket: Socket, line: string): Promise<unknown> {
  const answered = once(socket, "data");
  socket.write(line);
  const [answer] = await answered;
  return answer;
}

/**
 * The batch sizes of each round, in which all clients ask at the same moment and get their own
 * answers.
 */
async function batchSizes(
  handler: HandlerFunction<string, string>,
  options: BatchOptions<string, string>,
): Promise<number[][]> {
  let sizes: number[] = [];
  const batcher = createBatcher<string, string>((items, context) => {
    sizes.push(items.length);
    return handler(items, context);
  }, options);
  const sockets = await connectAll((line) => batcher.submit(line));
  const rounds: number[][] = [];
  for (const round of range(ROUNDS)) {
    sizes = [];
    const lines = sockets.map((_, client) => `${round}:${client}`);
    expect(await Promise.all(sockets.map((socket, client) => ask(socket, `${round}:${client}`)))).toEqual(lines);
    rounds.push(sizes);
  }
  await batcher.close();
  return rounds;
}

const quick = (items: string[]): string[] => items;
const inTheSameTurn = async (items: string[]): Promise<string[]> => {
  for (let job = 0; job < 10; job += 1) await null;
  return items;
};
const slow = (items: string[]): Promise<string[]> =>
  new Promise((resolve) => {
    setTimeout(() => resolve(items), 20);
  });

/** The median: on a busy machine a round may be cut in two. */
function usual(rounds: readonly (readonly number[])[]): number {
  const counts = rounds.map(({ length }) => length).sort((a, b) => a - b);
  return counts[counts.length >> 1] as number;
}

/** How many passes of the event loop it takes to await so many items one after the other. */
async function passesOf(submit: (item: number) => Promise<unknown>, items: number): Promise<number> {
  let passes = 0;
  let isOver = false;
  const count = (): void => {
    passes += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  for (const item of range(items)) await submit(item);
  isOver = true;
  return passes;
}

/** Submits so many items in one pass of the event loop, each in a turn of its own. */
async function inOnePass(submit: (item: number) => Promise<unknown>, items: number): Promise<void> {
  const submitted = range(items).map((item) => new Promise((resolve) => setImmediate(() => resolve(submit(item)))));
  await Promise.all(submitted);
}

describe("a caller who awaits one item after the other", () => {
  /** The time that the batcher reads, so that no run is long because the machine is busy. */
  let now = 0;

  beforeEach(() => {
    vi.spyOn(performance, "now").mockImplementation(() => now);
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  test.each([
    ["a synchronous handler", (items: number[]) => items],
    ["an async handler", async (items: number[]) => items],
  ])("waits for few passes before %s, once they bring nothing", async (_, handler) => {
    const batcher = createBatcher<number, number>((items) => handler(items));
    expect(await passesOf(batcher.submit, 40)).toBeGreaterThanOrEqual(16);
    expect(await passesOf(batcher.submit, 320)).toBeLessThan(30);
  });

  test("waits for passes again after one that brought more", async () => {
    const batcher = createBatcher<number, number>((items) => items);
    await passesOf(batcher.submit, 40);
    const sizes: number[] = [];
    batcher.on("batch", ({ size }) => sizes.push(size));
    for (const _ of range(40)) await inOnePass(batcher.submit, 2);
    expect(sizes.slice(-4)).toEqual([2, 2, 2, 2]);
  });

  test("waits for every pass before a synchronous handler whose run takes longer than one", async () => {
    const batcher = createBatcher<number, number>((items) => {
      now += 0.5;
      return items;
    });
    await passesOf(batcher.submit, 40);
    const sizes: number[] = [];
    batcher.on("batch", ({ size }) => sizes.push(size));
    await inOnePass(batcher.submit, 6);
    expect(sizes).toEqual([6]);
  });

  test("waits for some passes also between full batches, which wait for none", async () => {
    const batcher = createBatcher<number, number>((items) => items, { maxBatchSize: 3 });
    await passesOf(batcher.submit, 40);
    const sizes: number[] = [];
    batcher.on("batch", ({ size }) => sizes.push(size));
    for (const _ of range(40)) {
      await batcher.submitMany(range(14 * 3));
      await inOnePass(batcher.submit, 2);
    }
    expect(sizes.slice(-15)).toEqual([...range(14).map(() => 3), 2]);
  });
});

describe("requests of many sockets", () => {
  test.each([
    ["a synchronous handler", quick],
    ["an async handler that settles in the same turn", inTheSameTurn],
  ])("meet in one batch by default before %s, once it is known", async (_, handler) => {
    const [first, ...later] = await batchSizes(handler, {});
    expect(first?.[0]).toBe(1);
    expect(usual(later)).toBe(1);
  });

  test('do not meet before a synchronous handler with gather "turn"', async () => {
    const rounds = await batchSizes(quick, { gather: "turn" });
    expect(rounds).toEqual(range(ROUNDS).map(() => range(CLIENTS).map(() => 1)));
  });

  test('meet from the first batch on with gather "tick"', async () => {
    const rounds = await batchSizes(quick, { gather: "tick" });
    expect(rounds[0]?.[0]).toBeGreaterThan(1);
    expect(usual(rounds)).toBe(1);
  });

  test("do not wait for one another before a handler that takes time: the first goes at the end of its turn", async () => {
    const rounds = await batchSizes(slow, {});
    for (const sizes of rounds) expect(sizes[0]).toBe(1);
    expect(usual(rounds)).toBe(2);
  });

  test("meet again when a handler that took time answers at once", async () => {
    const rounds = await batchSizes((items) => (items[0] === undefined || items[0] < "2" ? slow(items) : items), {});
    expect(rounds.slice(0, 2).map(([size]) => size)).toEqual([1, 1]);
    expect(usual(rounds.slice(3))).toBe(1);
  });
});

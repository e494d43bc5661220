// Shared by the tests of limits in Redis: a place in a server, clients, a client of the limiter
// that takes everything it gets, and a connection to Redis that can be cut.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { LimiterAnswer, LimiterClient, RateLimiter } from "batchwise";
import type { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { afterEachFile } from "../../../../../scripts/after-tests.ts";
import { bundledProgram } from "../../../../../scripts/bundled-program.ts";
import { scratchFolder } from "../../house/repository.ts";
import { redisPlace } from "../services/kept.ts";
import { clientAt } from "../services/redis.ts";
import type { LimiterWork } from "./limiter-child.ts";

let folder: string | undefined;
let program: Promise<string> | undefined;

afterEachFile(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true });
  folder = program = undefined;
});

let keys = 0;
/** A Redis server, and a key that no other test uses. */
export async function place(): Promise<{ port: number; key: string }> {
  const { port, prefix } = await redisPlace();
  keys += 1;
  return { port, key: `${prefix}-limit-${process.pid}-${keys}` };
}

/** A connected client. */
export async function ioredis(port: number): Promise<Redis> {
  const client = clientAt(port);
  onTestFinished(() => client.disconnect());
  await client.ping();
  return client;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Takes everything it gets, one piece at a time, until it is stopped, and counts. */
export class Taker implements LimiterClient {
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

/** A process of limiter-child.ts. */
export interface LimiterChild {
  line(): Promise<string>;
  begin(): void;
}

export async function startChild(work: LimiterWork): Promise<LimiterChild> {
  folder ??= scratchFolder("limiter-child");
  program ??= bundledProgram(new URL("limiter-child.ts", import.meta.url), folder);
  const child: ChildProcess = spawn(process.execPath, ["--no-warnings", await program, JSON.stringify(work)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  if (child.stdout === null) throw new Error("The child has no output.");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return { line: async () => String((await lines.next()).value), begin: () => child.stdin?.write("begin\n") };
}

/** A connection to Redis that can be cut. */
export class Wire {
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

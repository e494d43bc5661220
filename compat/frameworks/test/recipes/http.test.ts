// The HTTP recipes on real sockets: what each kind of trouble looks like to a client, and what it
// costs the others.

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { importRecipe, until } from "./import-recipe.ts";

type Score = (texts: string[]) => Promise<number[]>;

interface Limits {
  readonly maxQueueSize?: number;
  readonly timeoutMs?: number;
}

/** Both recipes; what they return has an HTTP server within. */
const starts: Record<string, (score: Score, limits: Limits) => Promise<[server: Server, close: () => void]>> = {
  async "node:http"(score, limits) {
    type Recipe = { scoreServer(score: Score, limits: Limits): Server };
    const { scoreServer } = await importRecipe<Recipe>("HTTP with node:http");
    const server = scoreServer(score, limits);
    return [server, () => void server.close()];
  },
  async Fastify(score, limits) {
    type Recipe = { scoreServer(score: Score, limits: Limits): FastifyInstance };
    const { scoreServer } = await importRecipe<Recipe>("Fastify");
    const app = scoreServer(score, limits);
    await app.ready();
    return [app.server, () => void app.close()];
  },
};

/** A server of a recipe, and how many requests and ends of connections it has seen. */
class Running {
  requests = 0;
  ends = 0;
  readonly #server: Server;
  readonly #port: number;
  readonly #closed: Promise<unknown>;
  readonly #close: () => void;

  constructor(server: Server, close: () => void) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    this.#close = close;
    this.#closed = once(server, "close");
    server.on("request", () => this.requests++);
    server.on("connection", (socket) => socket.once("close", () => this.ends++));
  }

  get(path: string, signal: AbortSignal | null = null): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#port}/score/${path}`, { headers: { connection: "close" }, signal });
  }

  async close(): Promise<void> {
    if (this.#server.listening) this.#close();
    await this.#closed;
  }
}

const lengths = (texts: string[]): number[] => texts.map((text) => text.length);

/** A handler whose batches wait until they are released. */
class Gate {
  readonly batches: string[][] = [];
  open = (): void => {};
  readonly #opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });

  readonly score: Score = async (texts) => {
    this.batches.push(texts);
    await this.#opened;
    return lengths(texts);
  };
}

describe.each(Object.keys(starts))("the recipe for %s", (name) => {
  async function started(score: Score, limits: Limits = { timeoutMs: 60_000 }): Promise<Running> {
    const [server, close] = (await starts[name]?.(score, limits)) ?? [];
    if (server === undefined || close === undefined) throw new Error(name);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const running = new Running(server, close);
    onTestFinished(async () => {
      const closed = running.close();
      server.closeAllConnections();
      await closed;
    });
    return running;
  }

  test("answers each client with its own result, and clients that come meanwhile share a batch", async () => {
    const gate = new Gate();
    const running = await started(gate.score);
    const first = running.get("a");
    await until(() => gate.batches.length === 1);
    const others = ["bb", "ccc", "a%20b"].map((path) => running.get(path));
    await until(() => running.requests === 4);
    gate.open();
    expect(await (await first).text()).toBe("1");
    expect(await Promise.all(others.map(async (answer) => (await answer).text()))).toEqual(["2", "3", "3"]);
    expect(gate.batches.map((texts) => texts.length)).toEqual([1, 3]);
  });

  test("answers 504 to a client that would wait longer than the deadline", async () => {
    const gate = new Gate();
    const { status } = await (await started(gate.score, { timeoutMs: 50 })).get("a");
    gate.open();
    expect(status).toBe(504);
  });

  test("drops the waiting item of a client that hangs up", async () => {
    const gate = new Gate();
    const running = await started(gate.score);
    const first = running.get("a");
    await until(() => gate.batches.length === 1);
    const hangUp = new AbortController();
    const gone = running.get("gone", hangUp.signal).catch(() => "gone");
    const here = running.get("here");
    await until(() => running.requests === 3);
    hangUp.abort();
    await until(() => running.ends === 1);
    gate.open();
    expect([(await first).status, (await here).status, await gone]).toEqual([200, 200, "gone"]);
    expect(gate.batches).toEqual([["a"], ["here"]]);
  });

  test("answers 503 with Retry-After when the queue is full, and serves waiting clients", async () => {
    const gate = new Gate();
    const running = await started(gate.score, { timeoutMs: 60_000, maxQueueSize: 2 });
    const served = [running.get("a")];
    await until(() => gate.batches.length === 1);
    served.push(running.get("b"), running.get("c"));
    await until(() => running.requests === 3);
    const refused = await running.get("d");
    gate.open();
    expect([refused.status, await refused.text(), refused.headers.get("retry-after")]).toEqual([
      503,
      "QUEUE_FULL",
      "1",
    ]);
    expect(await Promise.all(served.map(async (answer) => (await answer).status))).toEqual([200, 200, 200]);
  });

  test("answers connected clients when it closes, also waiting ones, and accepts no more", async () => {
    const gate = new Gate();
    const running = await started(gate.score);
    const first = running.get("a");
    await until(() => gate.batches.length === 1);
    const second = running.get("bb");
    await until(() => running.requests === 2);
    const closed = running.close();
    await expect(running.get("late")).rejects.toThrow("fetch failed");
    gate.open();
    expect([await (await first).text(), await (await second).text()]).toEqual(["1", "2"]);
    await closed;
    expect(gate.batches).toEqual([["a"], ["bb"]]);
  });

  test("answers 500 to those of a batch that fails, and continues", async () => {
    const failures = [new Error("the model fell over")];
    const running = await started(async (texts) => {
      const failure = failures.pop();
      if (failure !== undefined) throw failure;
      return lengths(texts);
    });
    expect((await running.get("a")).status).toBe(500);
    expect((await running.get("a")).status).toBe(200);
  });
});

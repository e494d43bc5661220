// The thread that parses large bodies: its order, and bodies whose callers have left.

import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "../../src/http/app.ts";
import { RequestParser } from "../../src/http/embeddings/request-parser.ts";
import { startService } from "../../src/http/service.ts";
import { openEmbedder } from "../support/embedders.ts";
import { smallEncoder } from "../support/small-encoder.ts";

const NEVER = new AbortController().signal;

function bodyOf(input: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify({ model: "batchwise-demo", input }));
}

const large = (letter: string): string => letter.repeat(200_000);

/** A body that keeps the thread for a while, and is refused. */
function slowBody(): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`{"model":"batchwise-demo","input":[${"1,".repeat(4_000_000)}1]}`);
}

async function openParser(): Promise<RequestParser> {
  const { model } = await openEmbedder(await smallEncoder());
  const parser = new RequestParser(model);
  onTestFinished(() => parser.close());
  return parser;
}

/** How many bodies were sent to a thread since. */
function countSent(): () => number {
  const post = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => post.mockRestore());
  return () => post.mock.calls.filter(([message]) => message instanceof Uint8Array).length;
}

test("a service whose model cannot be closed ends the thread that reads large bodies", async () => {
  const { embedder, url, close } = await startService({ ...(await smallEncoder()), workers: 1, port: 0 });
  const closeModel = embedder.close.bind(embedder);
  vi.spyOn(embedder, "close").mockImplementationOnce(async () => {
    await closeModel();
    throw new Error("not released");
  });
  const ended = vi.spyOn(RequestParser.prototype, "close");
  onTestFinished(() => ended.mockRestore());
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await expect(close()).rejects.toThrow("not released");
  expect(ended).toHaveBeenCalledOnce();
});

describe("the thread that reads large bodies", () => {
  test("fails its current and waiting requests when it is closed, and is replaced for the next", async () => {
    const parser = await openParser();
    const lost = [large("a"), large("b")].map((text) =>
      expect(parser.parse(bodyOf(text), NEVER)).rejects.toThrow("large bodies ended"),
    );
    await parser.close();
    await Promise.all(lost);
    const { inputs } = await parser.parse(bodyOf(large("c")), NEVER);
    expect(inputs).toEqual([large("c")]);
  });

  test("that cannot start fails each body that needs it, also later ones", async () => {
    const { model } = await openEmbedder(await smallEncoder());
    // A value that no thread can be given stands for a system that has no more threads.
    const parser = new RequestParser({ ...model, odd: () => {} } as typeof model);
    const start = (text: string) => parser.parse(bodyOf(large(text)), NEVER);
    const outcomes = await Promise.allSettled([start("a"), start("b")]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(start("c")).rejects.toThrow("could not be cloned");
  });

  test("that dies fails the one body it was reading; a new thread reads those that waited", async () => {
    const parser = await openParser();
    const post = vi.spyOn(Worker.prototype, "postMessage").mockImplementationOnce(function (this: Worker) {
      void this.terminate();
    });
    onTestFinished(() => post.mockRestore());
    const lost = expect(parser.parse(bodyOf(large("a")), NEVER)).rejects.toThrow("large bodies ended");
    const next = parser.parse(bodyOf(large("b")), NEVER);
    await lost;
    expect((await next).inputs).toEqual([large("b")]);
  });

  test("gets one body at a time, in the order in which they came", async () => {
    const parser = await openParser();
    const sent = countSent();
    const order: string[] = [];
    const readings = ["a", "b", "c"].map(async (letter) => {
      await parser.parse(bodyOf(large(letter)), NEVER);
      order.push(letter);
    });
    expect(sent()).toBe(1);
    await Promise.all(readings);
    expect(order).toEqual(["a", "b", "c"]);
  });
});

describe("a large body whose signal aborts", () => {
  test("is dropped before the thread gets it, and those behind it are read", async () => {
    const parser = await openParser();
    const sent = countSent();
    const caller = new AbortController();
    const first = parser.parse(bodyOf(large("a")), NEVER);
    const second = parser.parse(bodyOf(large("b")), caller.signal);
    const third = parser.parse(bodyOf(large("c")), NEVER);
    caller.abort(new Error("The caller left."));
    await expect(second).rejects.toThrow("The caller left.");
    expect((await first).inputs).toEqual([large("a")]);
    expect((await third).inputs).toEqual([large("c")]);
    expect(sent()).toBe(2);
  });

  test("is given up while the thread reads it, and its answer is not taken for that of the next", async () => {
    const parser = await openParser();
    const caller = new AbortController();
    const first = parser.parse(bodyOf(large("a")), caller.signal);
    const second = parser.parse(bodyOf(large("b")), NEVER);
    caller.abort(new Error("The caller left."));
    await expect(first).rejects.toThrow("The caller left.");
    expect((await second).inputs).toEqual([large("b")]);
  });

  test("before it is taken is not read at all", async () => {
    const parser = await openParser();
    const sent = countSent();
    await expect(parser.parse(bodyOf(large("a")), AbortSignal.abort(new Error("Gone.")))).rejects.toThrow("Gone.");
    expect(sent()).toBe(0);
  });
});

describe("a request behind a large body of another", () => {
  test("is answered with 504 at its deadline, and its body no longer counts among the uploads", async () => {
    const embedder = await openEmbedder(await smallEncoder());
    const slow = slowBody();
    const mine = bodyOf(large("a"));
    const app = createApp({ embedder, maxBodyBytes: slow.length, maxUploadBytes: slow.length + mine.length });
    const ask = (body: Uint8Array<ArrayBuffer>, more: Record<string, string> = {}): Promise<Response> => {
      const headers = { "content-type": "application/json", "content-length": String(body.length), ...more };
      return Promise.resolve(app.request("/v1/embeddings", { method: "POST", headers, body }));
    };
    let isRead = false;
    const other = ask(slow).finally(() => {
      isRead = true;
    });
    for (let round = 0; round < 2; round += 1) {
      const answer = await ask(bodyOf(large("a")), { "x-timeout-ms": "30", authorization: "Bearer a" });
      expect(answer.status).toBe(504);
      expect(await answer.json()).toMatchObject({ error: { code: "deadline_exceeded" } });
    }
    expect(isRead).toBe(false);
    expect((await other).status).toBe(400);
  });
});

// Requests whose time is up, or whose caller leaves, while their bodies arrive or their texts are
// tokenised.

import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../src/http/app.ts";
import type { Embedder, EmbedderOptions } from "../../src/models/embedder.ts";
import { openEmbedder } from "../support/embedders.ts";
import { jsonPost } from "../support/json-post.ts";
import { startSmall } from "../support/services.ts";
import { smallEncoder } from "../support/small-encoder.ts";

const QUESTION = jsonPost({ model: "batchwise-demo", input: ["one", "two"] });

/** An embedder whose tokenising continues until the test stops it. */
async function endless(options: EmbedderOptions = {}): Promise<{ embedder: Embedder; begun: Promise<AbortSignal> }> {
  const embedder = await openEmbedder({ ...(await smallEncoder()), ...options });
  const begun = new Promise<AbortSignal>((resolve, reject) => {
    vi.spyOn(embedder, "tokenize").mockImplementation((_texts, { signal } = {}) => {
      if (signal === undefined) reject(new Error("Nothing can stop this."));
      else resolve(signal);
      return new Promise((_, stop) => signal?.addEventListener("abort", () => stop(signal.reason)));
    });
  });
  begun.catch(() => undefined);
  return { embedder, begun };
}

describe("while its texts are tokenised, a request", () => {
  test("is answered with 504 at its own deadline", async () => {
    const { embedder } = await endless();
    const headers = { "content-type": "application/json", "x-timeout-ms": "20" };
    const answer = await createApp({ embedder }).request("/v1/embeddings", { ...QUESTION, headers });
    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ error: { code: "deadline_exceeded" } });
  });

  test("is answered with 504 at the server's deadline", async () => {
    const { embedder } = await endless({ timeoutMs: 20 });
    const answer = await createApp({ embedder }).request("/v1/embeddings", QUESTION);
    expect(answer.status).toBe(504);
  });

  test("stops when its caller disconnects", async () => {
    const { embedder, begun } = await endless();
    const caller = new AbortController();
    const app = createApp({ embedder });
    const answer = app.request(new Request("http://localhost/v1/embeddings", { ...QUESTION, signal: caller.signal }));
    const signal = await begun;
    expect(signal.aborted).toBe(false);
    caller.abort();
    expect((await answer).status).toBe(499);
    expect(signal.aborted).toBe(true);
  });
});

describe("while its body comes slowly, a request", () => {
  const CHUNKS = 100;

  /**
   * A body that takes a second, with the number of its chunks that were read, and whether it was
   * abandoned.
   */
  function slowBody(): { body: ReadableStream<Uint8Array>; asked: () => number; isCancelled: () => boolean } {
    let asked = 0;
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          asked += 1;
          await sleep(10);
          if (isCancelled) return;
          if (asked > CHUNKS) controller.close();
          else controller.enqueue(new TextEncoder().encode(" "));
        },
        cancel() {
          isCancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    return { body, asked: () => asked, isCancelled: () => isCancelled };
  }

  test.each([
    ["its own", { "x-timeout-ms": "50" }, {}],
    ["the server's", {}, { timeoutMs: 50 }],
  ])("is answered with 504 at %s deadline, and not read any further", async (_, own, options) => {
    const embedder = await openEmbedder({ ...(await smallEncoder()), ...options });
    const { body, asked, isCancelled } = slowBody();
    const headers = { "content-type": "application/json", ...own };
    const sent = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    const answer = await createApp({ embedder }).request("/v1/embeddings", sent);
    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ error: { code: "deadline_exceeded" } });
    expect(isCancelled()).toBe(true);
    expect(asked()).toBeLessThan(CHUNKS);
  });

  test("gets that answer on its connection while it still sends", async () => {
    const service = await startSmall();
    const head =
      "POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nx-timeout-ms: 100";
    const socket = connect(service.port, "127.0.0.1");
    socket.on("error", () => undefined);
    let answer = "";
    let sent = 0;
    socket.on("data", (chunk) => {
      answer += chunk.toString();
    });
    socket.write(`${head}\r\ncontent-length: ${CHUNKS}\r\n\r\n`);
    for (; sent < CHUNKS && answer === ""; sent += 1) {
      socket.write(" ");
      await sleep(20);
    }
    expect(answer).toMatch(/^HTTP\/1.1 504 /);
    expect(answer).toContain("deadline_exceeded");
    expect(sent).toBeLessThan(CHUNKS);
    socket.destroy();
  });
});

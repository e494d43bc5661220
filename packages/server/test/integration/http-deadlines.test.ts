// Requests whose time is up, or whose caller leaves, while their texts are tokenised.

import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../src/http/app.ts";
import type { Embedder, EmbedderOptions } from "../../src/models/embedder.ts";
import { openEmbedder } from "../support/embedders.ts";
import { jsonPost } from "../support/json-post.ts";
import { smallEncoder } from "../support/small-encoder.ts";

const QUESTION = jsonPost({ model: "batchwise-demo", input: ["one", "two"] });

/** An embedder whose tokenising goes on until it is told to stop. */
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
  test("is answered with 504 once its own deadline is over", async () => {
    const { embedder } = await endless();
    const headers = { "content-type": "application/json", "x-timeout-ms": "20" };
    const answer = await createApp({ embedder }).request("/v1/embeddings", { ...QUESTION, headers });
    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ error: { code: "deadline_exceeded" } });
  });

  test("is answered with 504 once the server's deadline is over", async () => {
    const { embedder } = await endless({ timeoutMs: 20 });
    const answer = await createApp({ embedder }).request("/v1/embeddings", QUESTION);
    expect(answer.status).toBe(504);
  });

  test("stops when its caller leaves", async () => {
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

// A model that gives NaN or an infinite number for some texts.

import { describe, expect, test } from "vitest";
import { createApp } from "../../src/http/app.ts";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, tableGraph } from "../support/exports.ts";
import { jsonPost } from "../support/json-post.ts";
import { markedPieces } from "../support/word-piece.ts";

const RAIN = 9;
const GREY = 10;
const PIANO = 8;
const WORDS = { [RAIN]: [Number.NaN, 1], [GREY]: [Number.POSITIVE_INFINITY, 0], [PIANO]: [3, 4] };

describe("a vector that is not finite", () => {
  test("is that list's own failure, and the rest of its batch is answered", async () => {
    const embedder = await openEmbedder({ model: await exportFolder(tableGraph({ width: 2, words: WORDS })) });
    const sizes: number[] = [];
    embedder.batcher.on("batch", ({ size }) => sizes.push(size));
    const lists = [[PIANO], [RAIN, 4], [PIANO], [GREY], [PIANO]];
    const outcomes = await Promise.allSettled(lists.map((list) => embedder.embed([markedPieces(list)])));
    expect(outcomes.map(({ status }) => status)).toEqual(
      lists.map(([first]) => (first === PIANO ? "fulfilled" : "rejected")),
    );
    expect(outcomes[1]).toMatchObject({ reason: { code: "MODEL_NOT_FINITE" } });
    expect(Math.max(...sizes)).toBeGreaterThan(1);
  });

  test("is answered with 422 in OpenAI's shape, not with null", async () => {
    const embedder = await openEmbedder({ model: await exportFolder(tableGraph({ width: 2, words: WORDS })) });
    const app = createApp({ embedder });
    const post = async (input: unknown): Promise<Response> =>
      app.request("/v1/embeddings", jsonPost({ model: "export", input }));
    const [good, bad] = await Promise.all([post("piano"), post(["piano", "grey"])]);
    expect(good.status).toBe(200);
    expect(bad.status).toBe(422);
    expect(bad.headers.get("x-should-retry")).toBe("false");
    expect(await bad.json()).toMatchObject({ error: { code: "vector_not_finite", type: "invalid_request_error" } });
  });

  test("that spoils the whole batch of a quantised graph costs the others nothing", async () => {
    const graph = tableGraph({ width: 2, words: WORDS, quantised: true });
    const embedder = await openEmbedder({ model: await exportFolder(graph), pooling: "mean", batchAnyway: true });
    const lists = [[PIANO], [PIANO, 4], [GREY], [PIANO, 5], [PIANO, 6]];
    const outcomes = await Promise.allSettled(lists.map((list) => embedder.embed([markedPieces(list)])));
    expect(outcomes.map(({ status }) => status)).toEqual(
      lists.map(([first]) => (first === GREY ? "rejected" : "fulfilled")),
    );
  });
});

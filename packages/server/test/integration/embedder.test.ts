import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { availableCores } from "batchwise/onnx";
import { afterEach, describe, expect, test } from "vitest";
import { Embedder, type EmbedderOptions } from "../../src/models/embedder.ts";
import { buildEncoder, DEFAULT_ENCODER } from "../../src/models/encoder-model.ts";
import { temporaryFolder } from "../support/folders.ts";
import { marked, slowEncoder, smallEncoder } from "../support/small-encoder.ts";
import { cosine, maxDifference } from "../support/vectors.ts";
import { WORD_PIECES, wordPieceDefinition } from "../support/word-piece.ts";

const opened: Embedder[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((embedder) => embedder.close()));
});

async function open(options: EmbedderOptions): Promise<Embedder> {
  const embedder = await Embedder.open(options);
  opened.push(embedder);
  return embedder;
}

/** A list of `length` tokens, whose first word is `first`. */
const list = (length: number, first = 3): number[] => marked([first, ...Array.from({ length: length - 3 }, () => 7)]);

describe("an embedder", () => {
  test("gives every list its own vector, the same as in a batch of one", async () => {
    // A fixed size: one that is learned from times differs with the machine's load.
    const embedder = await open({ ...(await smallEncoder()), maxBatchTokens: 1_000 });
    const lists = Array.from({ length: 100 }, (_, index) => list(3 + ((index * 13) % 40), 3 + index));
    const together = await embedder.embed(lists);
    for (const [index, tokens] of lists.entries()) {
      const [alone] = await embedder.embed([tokens]);
      expect(maxDifference(together[index] ?? [], alone ?? [])).toBeLessThan(1e-4);
    }
    expect(embedder.batcher.stats().batches).toBeLessThan(150);
  });

  test("keeps every batch within its padded tokens and its texts, and sends a longer list by itself", async () => {
    const embedder = await open({ ...(await smallEncoder()), maxBatchTokens: 40, maxBatchSize: 6 });
    const batches: { size: number; longest: number }[] = [];
    embedder.batcher.on("batch", (batch) => batches.push({ size: batch.size, longest: batch.cost / batch.size }));
    await embedder.embed([list(64), ...Array.from({ length: 60 }, (_, index) => list(3 + (index % 9)))]);
    expect(batches.filter((batch) => batch.size === 1 && batch.longest === 64)).toHaveLength(1);
    for (const { size, longest } of batches.filter((batch) => batch.longest < 64)) {
      expect(size).toBeLessThanOrEqual(6);
      expect(size * longest).toBeLessThanOrEqual(40);
    }
    expect(Math.max(...batches.map((batch) => batch.size))).toBeGreaterThan(3);
  });

  test("fails a list that the model cannot take and answers the others of its batch", async () => {
    const embedder = await open(await smallEncoder());
    const poison = 5_000;
    const outcomes = await Promise.allSettled(
      [3, 4, poison, 5, 6].map((token) => embedder.embed([marked([token, 7])])),
    );
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
    await expect(embedder.embed([marked([3]), marked([poison])])).rejects.toMatchObject({ code: "MODEL_INPUT" });
  });

  test("removes the lists of a caller who cancelled from the queue", async () => {
    const embedder = await open(await slowEncoder());
    const caller = new AbortController();
    const lost = embedder.embed(
      Array.from({ length: 40 }, () => list(500)),
      { signal: caller.signal },
    );
    await new Promise<void>((resolve) => setImmediate(resolve));
    caller.abort(new Error("left"));
    await expect(lost).rejects.toThrow("left");
    expect(embedder.batcher.stats().waiting).toBe(0);
    await embedder.embed([list(3)]);
    expect(embedder.batcher.stats().cancelled).toBe(40);
    expect(embedder.batcher.stats().batches).toBeLessThanOrEqual(4);
  });

  test("takes the rest of a request out of the queue when one list is refused", async () => {
    const embedder = await open({ ...(await slowEncoder()), maxQueueSize: 10 });
    await expect(embedder.embed(Array.from({ length: 40 }, () => list(500)))).rejects.toMatchObject({
      code: "QUEUE_FULL",
    });
    expect(embedder.batcher.stats().waiting).toBe(0);
  });

  test("answers accepted calls before it closes", async () => {
    const embedder = await open(await smallEncoder());
    const running = embedder.embed(Array.from({ length: 200 }, () => list(30)));
    await embedder.close();
    expect(await running).toHaveLength(200);
    expect(embedder.ready).toBe(false);
    await expect(embedder.embed([list(3)])).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("has a thread for each core that it may use, and learns how large batches pay", async () => {
    const { workers: _one, ...unset } = await smallEncoder();
    const embedder = await open(unset);
    expect(embedder.workers).toBe(availableCores());
    expect(embedder.batcher.options).toMatchObject({ order: "length", maxBatchCost: "learn", maxBatchSize: 1024 });
  });

  test("takes the caps that it is given", async () => {
    const embedder = await open({ ...(await smallEncoder()), maxBatchTokens: 128 });
    expect(embedder.batcher.options).toMatchObject({ maxBatchCost: 128, maxBatchSize: 64 });
  });
});

describe("an embedder of a trained model's files", () => {
  async function exported(): Promise<string> {
    const folder = await temporaryFolder();
    const config = { ...DEFAULT_ENCODER, layers: 1, vocabulary: WORD_PIECES.length, maxTokens: 32 };
    await writeFile(join(folder, "model.onnx"), buildEncoder({ ...config, output: "tokens" }));
    await writeFile(join(folder, "tokenizer.json"), JSON.stringify(wordPieceDefinition()));
    await writeFile(join(folder, "config.json"), JSON.stringify({ max_position_embeddings: 32 }));
    return folder;
  }

  test("feeds token types, pools the tokens and uses the model's own tokenizer", async () => {
    const embedder = await open({ model: await exported(), workers: 1, modelName: "ours" });
    expect(embedder.model).toMatchObject({ name: "ours", maxTokens: 32, builtIn: false });
    const texts = ["playing the piano", "The piano, played!", "grey rain"];
    const counts = await embedder.tokenize(texts);
    const [playing, played, rain] = await embedder.embed(counts.map(({ ids }) => ids ?? []));
    expect(counts.map(({ tokens }) => tokens)).toEqual([6, 8, 4]);
    expect(cosine(playing ?? [], played ?? [])).toBeGreaterThan(cosine(playing ?? [], rain ?? []));
    const [alone] = await embedder.embed([counts[2]?.ids ?? []]);
    expect(maxDifference(alone ?? [], rain ?? [])).toBeLessThan(1e-4);
  });

  test("names the fault of a file that is no model, and keeps no thread", async () => {
    const folder = await exported();
    await writeFile(join(folder, "model.onnx"), "no model");
    await expect(Embedder.open({ model: folder, workers: 2 })).rejects.toThrow(
      `Cannot load ${join(folder, "model.onnx")}`,
    );
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BoundMeter } from "./bound.ts";
import { boundOf, fitCalls } from "./bound-figures.ts";
import { type Cell, cellsOf, WORKERS } from "./plan.ts";
import { inTurns } from "./turns.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "batchwise-bound-"));
});
afterAll(() => rm(folder, { recursive: true }));

const cells = cellsOf({ quick: true });
const small = cells.find(({ name }) => name === "tiny/64/short") as Cell;
const cell: Cell = { ...small, times: { ...small.times, bound: { roundMs: 60, lookMs: 5, leadMs: 1 } } };
const encoder = { layers: 1, hidden: 32, heads: 2, feedForward: 64, vocabulary: 500 };

test("a model is measured alone and in its best batches, in turns", async () => {
  const meter = await BoundMeter.open(cell, { encoder, modelDirectory: folder }, () => undefined);
  try {
    const rounds = await inTurns(meter?.contenders ?? [], cell, () => undefined);
    expect(Object.keys(rounds)).toHaveLength(3);
    expect(meter?.looks).toMatchObject({ workers: WORKERS, texts: 2_048 });
    // 5 to 16 words, and a special token at either end.
    expect(meter?.looks.tokens).toBeCloseTo(12.5, 0);
    const bound = boundOf(meter?.looks as NonNullable<typeof meter>["looks"], rounds);
    expect(bound.alone).toBeGreaterThan(0);
    // In so small a model almost all cost is fixed.
    expect(bound.ratio).toBeGreaterThan(1);
    expect(fitCalls(meter?.looks.probes ?? []).tokenMs).toBeGreaterThan(0);
  } finally {
    await meter?.close();
  }
});

test("a cell without a bound starts nothing", async () => {
  const other = cells.find(({ name }) => name === "tiny/8/short") as Cell;
  expect(await BoundMeter.open(other, { model: "nowhere.onnx" }, () => undefined)).toBeUndefined();
});

test("a model that cannot be loaded is refused, and no thread is left", async () => {
  const [model, tokenizer] = [join(folder, "broken.onnx"), join(folder, "tokenizer.json")];
  await writeFile(model, "no model");
  await writeFile(tokenizer, JSON.stringify(TOKENIZER));
  await expect(BoundMeter.open(cell, { model }, () => undefined)).rejects.toThrow(/model|protobuf/i);
});

const TOKENIZER = {
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: { type: "Whitespace" },
  post_processor: null,
  decoder: null,
  model: { type: "WordLevel", vocab: { "[UNK]": 0, "[PAD]": 1 }, unk_token: "[UNK]" },
};

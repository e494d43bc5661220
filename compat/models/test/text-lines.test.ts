// A trained model behind the tensor batcher: PP-OCRv4 reads lines of text of many widths, for
// callers who bring one line each. The recogniser is that of examples/text-lines.

import { spawnSync } from "node:child_process";
import type { Tensor } from "batchwise/tensor";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { built, root } from "../../../packages/batchwise/test/house/repository.ts";
import { type DrawnLine, drawLines } from "../examples/text-lines/drawn-lines.ts";
import { pictureTensor } from "../examples/text-lines/line-picture.ts";
import { EQUAL_WIDTHS, type LineOptions, PADDED, Recogniser } from "../examples/text-lines/recogniser.ts";

type Picture = Tensor<"float32">;

const FULL: LineOptions = { maxBatchSize: 8, maxBatchCost: Number.POSITIVE_INFINITY };

let drawn: readonly DrawnLine[];
let stretched: readonly Picture[];
let kept: readonly Picture[];

beforeAll(async () => {
  drawn = await drawLines(16, 7);
  stretched = await Promise.all(drawn.map(({ png }) => pictureTensor(png)));
  kept = await Promise.all(drawn.map(({ png }) => pictureTensor(png, { widthStep: 1 })));
});

async function opened(options: LineOptions): Promise<Recogniser> {
  const recogniser = await Recogniser.open({ ...options, ...FULL });
  onTestFinished(() => recogniser.batcher.close());
  return recogniser;
}

/** Lines whose text is exactly what was drawn. */
const rightOf = (texts: readonly string[]): number => texts.filter((text, index) => text === drawn[index]?.text).length;

function picture(channels: number, height: number, value = 0): Picture {
  const dims = [1, channels, height, stretched[0]?.dims[3] ?? 0];
  return { type: "float32", data: new Float32Array(dims.reduce((all, each) => all * each)).fill(value), dims };
}

describe("lines of text", () => {
  test("of equal widths share a batch, and each caller gets the same as in a batch of one", async () => {
    const recogniser = await opened(EQUAL_WIDTHS);
    const together = await Promise.all(stretched.map((x) => recogniser.read(x)));
    expect(recogniser.batcher.stats().averageBatchSize).toBeGreaterThan(1);
    expect(rightOf(together.map(({ text }) => text))).toBeGreaterThanOrEqual(15);
    for (const [index, x] of stretched.entries()) {
      const alone = await recogniser.read(x);
      expect(together[index]?.text).toBe(alone.text);
      expect(Math.abs((together[index]?.confidence ?? 0) - alone.confidence)).toBeLessThan(1e-4);
    }
  });

  test("of any widths go together, padded, and each caller gets the text of its own line", async () => {
    const recogniser = await opened(PADDED);
    const together = await Promise.all(kept.map((x) => recogniser.read(x)));
    const { averageBatchSize, averageBatchCost, batches } = recogniser.batcher.stats();
    expect(averageBatchSize).toBeGreaterThan(2);
    expect(averageBatchCost * batches).toBeGreaterThan(kept.reduce((sum, { data }) => sum + data.length, 0));
    // Not all: this model sees padding. docs/tensors.md has how much it matters.
    expect(rightOf(together.map(({ text }) => text))).toBeGreaterThanOrEqual(14);
  });
});

describe.each([
  { name: "equal widths", options: EQUAL_WIDTHS },
  { name: "any widths", options: PADDED },
])("among lines of $name", ({ options }) => {
  let recogniser: Recogniser;
  beforeAll(async () => {
    recogniser = await Recogniser.open({ ...options, ...FULL });
  });
  afterAll(() => recogniser.batcher.close());

  test.each([
    { name: "one channel", poison: () => picture(1, 48), says: "got [1, 1, 48," },
    { name: "a height of 47", poison: () => picture(3, 47), says: "got [1, 3, 47," },
    { name: "NaN in it", poison: () => picture(3, 48, Number.NaN), says: "finite" },
  ])("a picture with $name fails only its own caller", async ({ poison, says }) => {
    const good = Array.from({ length: 5 }, () => stretched[0] as Picture);
    const calls = [...good.slice(0, 2), poison(), ...good.slice(2)].map((x) => recogniser.read(x));
    const settled = await Promise.allSettled(calls);
    const texts = settled.map((one) => (one.status === "fulfilled" ? one.value.text : "refused"));
    const text = drawn[0]?.text;
    expect(texts).toEqual([text, text, "refused", text, text, text]);
    await expect(calls[2]).rejects.toThrow(says);
  });
});

test("the example runs on the built package, reads its lines, and ends by itself", () => {
  built("onnx/index.js");
  const file = `${root}compat/models/examples/text-lines/main.ts`;
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 60_000 });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const lines = stdout.split("\n").filter((line) => line.includes(" -> "));
  expect(lines).toHaveLength(40);
  expect(lines.filter((line) => /^\d\.\d{3} {2}(.*) {2}-> {2}\1$/.test(line)).length).toBeGreaterThanOrEqual(37);
  expect(stdout).toMatch(/^40 lines in \d+ batches of \d+\.\d, 0 % padding$/m);
});

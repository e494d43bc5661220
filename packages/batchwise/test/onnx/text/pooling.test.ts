import { describe, expect, test } from "vitest";
import { chooseOutput, normalize, vectorsFrom } from "../../../src/onnx/text/pooling.ts";
import { MEAN_READOUT } from "../../../src/onnx/text/readout.ts";
import { padTokens, splitRows } from "../../../src/onnx/text/token-batch.ts";

const batch = padTokens([[5, 6, 7], [8]], 9);

describe("padding", () => {
  test("fills rows to the longest and marks the real tokens", () => {
    expect([...batch.ids]).toEqual([5n, 6n, 7n, 8n, 9n, 9n]);
    expect([...batch.mask]).toEqual([1n, 1n, 1n, 1n, 0n, 0n]);
    expect([batch.rows, batch.columns]).toEqual([2, 3]);
  });
});

describe("choosing an output", () => {
  test.each([
    [["last_hidden_state", "sentence_embedding"], "sentence_embedding"],
    [["last_hidden_state", "pooler_output"], "last_hidden_state"],
    [["embedding"], "embedding"],
    [["anything"], "anything"],
  ])("of %j takes %s", (names, chosen) => {
    expect(chooseOutput(names, MEAN_READOUT)).toBe(chosen);
  });

  test("refuses several that it does not know, by name", () => {
    expect(() => chooseOutput(["scores", "past"], MEAN_READOUT)).toThrow(
      "The model gives scores, past; expected one of",
    );
  });
});

describe("reading an output", () => {
  test("takes the mean over a row's own tokens, at length 1", () => {
    const data = Float32Array.of(3, 0, 3, 4, 3, 8, 0, 2, 100, 100, 100, 100);
    const [first, second] = splitRows(vectorsFrom({ type: "float32", data, dims: [2, 3, 2] }, batch, MEAN_READOUT));
    expect(first?.[0]).toBeCloseTo(9 / 15, 6);
    expect(first?.[1]).toBeCloseTo(12 / 15, 6);
    expect([...(second ?? [])]).toEqual([0, 1]);
  });

  test("takes pooled vectors as they are, at length 1", () => {
    const data = Float32Array.of(3, 4, 0, 0);
    const block = vectorsFrom({ type: "float32", data, dims: [2, 2] }, batch, MEAN_READOUT);
    const [first, second] = splitRows(block);
    expect(first?.[0]).toBeCloseTo(0.6, 6);
    expect([...(second ?? [])]).toEqual([0, 0]);
    expect(block).toMatchObject({ notFinite: [], zeros: [1] });
  });

  test("refuses other numbers, row counts and shapes, and names the actual ones", () => {
    const data = new Float32Array(12);
    expect(() => vectorsFrom({ type: "float16", data: new Uint16Array(4), dims: [2, 2] }, batch, MEAN_READOUT)).toThrow(
      "float16",
    );
    expect(() => vectorsFrom({ type: "float32", data, dims: [3, 4] }, batch, MEAN_READOUT)).toThrow(
      "3 rows for 2 texts",
    );
    expect(() => vectorsFrom({ type: "float32", data, dims: [2, 2, 3] }, batch, MEAN_READOUT)).toThrow("[2, 2, 3]");
  });

  test("keeps a zero vector a zero vector", () => {
    const zero = new Float32Array(3);
    normalize(zero);
    expect([...zero]).toEqual([0, 0, 0]);
  });
});

// Exports of sentence-transformers: the steps of their module files are applied, or the model is
// refused at start.

import type { Pooling } from "batchwise/onnx";
import { describe, expect, test } from "vitest";
import { Embedder } from "../../src/models/embedder.ts";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, tableGraph } from "../support/exports.ts";
import { safetensors } from "../support/safetensors.ts";
import { maxDifference } from "../support/vectors.ts";
import { markedPieces, wordPieceDefinition } from "../support/word-piece.ts";

const WORDS = { 2: [1, 0], 8: [0, 4], 3: [-2, 1] };
/** [CLS] piano [SEP], whose vectors are those above. */
const LIST = markedPieces([8]);
const GRAPH = tableGraph({ width: 2, words: WORDS });
const TYPES = "sentence_transformers.models.";

type Entry = readonly [kind: string, path: string];

const modules = (...entries: readonly Entry[]): readonly unknown[] =>
  entries.map(([kind, path], idx) => ({
    idx,
    name: String(idx),
    path,
    type: kind.includes(".") ? kind : TYPES + kind,
  }));

const TRANSFORMER: Entry = ["Transformer", ""];
const POOLING: Entry = ["Pooling", "1_Pooling"];

function pooling(...modes: readonly string[]): Record<string, unknown> {
  const names = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"];
  const flags = [...new Set([...names, ...modes])].map((name) => [`pooling_mode_${name}`, modes.includes(name)]);
  return { word_embedding_dimension: 2, ...Object.fromEntries(flags) };
}

function unit(...vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

async function vectorOf(files: Parameters<typeof exportFolder>[1], how?: Pooling, graph = GRAPH): Promise<number[]> {
  const embedder = await openEmbedder({
    model: await exportFolder(graph, files),
    ...(how === undefined ? {} : { pooling: how }),
  });
  // Beside a longer list, so that there is padding.
  const [vector] = await embedder.embed([LIST, markedPieces([8, 8, 8, 8])]);
  return [...(vector ?? [])];
}

describe("1_Pooling", () => {
  test.each([
    ["cls_token", unit(1, 0)],
    ["mean_tokens", unit(-1, 5)],
    ["mean_sqrt_len_tokens", unit(-1, 5)],
    ["max_tokens", unit(1, 4)],
    ["weightedmean_tokens", unit(1 - 6, 8 + 3)],
    ["lasttoken", unit(-2, 1)],
  ])("with %s is done", async (mode, expected) => {
    const files = { "modules.json": modules(TRANSFORMER, POOLING), "1_Pooling/config.json": pooling(mode) };
    expect(maxDifference(await vectorOf(files), expected)).toBeLessThan(1e-6);
  });

  test("with two ways puts one behind the other", async () => {
    const files = {
      "modules.json": modules(TRANSFORMER, POOLING),
      "1_Pooling/config.json": pooling("lasttoken", "cls_token"),
    };
    expect(maxDifference(await vectorOf(files), unit(1, 0, -2, 1))).toBeLessThan(1e-6);
  });

  test("is read without modules.json, and where it names its way in one word", async () => {
    const config = { word_embedding_dimension: 2, pooling_mode: "cls" };
    expect(maxDifference(await vectorOf({ "1_Pooling/config.json": config }), [1, 0])).toBeLessThan(1e-6);
  });

  test("gives way to the option", async () => {
    const files = { "modules.json": modules(TRANSFORMER, POOLING), "1_Pooling/config.json": pooling("cls_token") };
    expect(maxDifference(await vectorOf(files, "last-token"), unit(-2, 1))).toBeLessThan(1e-6);
  });

  test("that is missing is the mean, with a warning", async () => {
    const embedder = await openEmbedder({ model: await exportFolder(GRAPH) });
    expect(embedder.warnings).toEqual([expect.stringContaining("taking their mean. --pooling")]);
    const told = await openEmbedder({ model: await exportFolder(GRAPH), pooling: "mean" });
    expect(told.warnings).toEqual([]);
  });
});

describe("2_Dense and 3_Normalize", () => {
  const weights = safetensors({
    "linear.weight": { shape: [3, 2], data: [1, 2, 0, 1, -1, 0] },
    "linear.bias": { shape: [3], data: [0.5, 0, 0] },
  });
  const config = {
    in_features: 2,
    out_features: 3,
    bias: true,
    activation_function: "torch.nn.modules.activation.Tanh",
  };
  const files = {
    "modules.json": modules(TRANSFORMER, POOLING, ["Normalize", "2_Normalize"], ["Dense", "3_Dense"]),
    "1_Pooling/config.json": pooling("cls_token"),
    "3_Dense/config.json": config,
    "3_Dense/model.safetensors": weights,
  };

  test("are done in their order", async () => {
    const expected = unit(Math.tanh(1.5), 0, Math.tanh(-1));
    expect(
      maxDifference(
        await vectorOf(files, undefined, tableGraph({ width: 2, words: { ...WORDS, 2: [5, 0] } })),
        expected,
      ),
    ).toBeLessThan(1e-6);
  });

  test("are not changed where the graph gives sentence_embedding", async () => {
    const graph = tableGraph({ width: 3, output: "mean" });
    expect(await vectorOf({ ...files, "3_Dense/model.safetensors": new Uint8Array() }, undefined, graph)).toHaveLength(
      3,
    );
  });

  test("refuse a graph that pools but omits them", async () => {
    const model = await exportFolder(tableGraph({ width: 2, output: "mean" }), files);
    await expect(Embedder.open({ model, workers: 1 })).rejects.toThrow(
      "vectors of 2 numbers, but its files end in 3_Dense with 3",
    );
  });

  test.each([
    [{ "3_Dense/config.json": { ...config, activation_function: "torch.nn.modules.activation.GELU" } }, "GELU"],
    [{ "3_Dense/model.safetensors": new Uint8Array(3) }, "3_Dense has no model.safetensors that can be read"],
    [{ "3_Dense/model.safetensors": weights.slice(0, -4) }, "are cut"],
  ])("refuse %#", async (change, message) => {
    const model = await exportFolder(GRAPH, { ...files, ...change });
    await expect(Embedder.open({ model, workers: 1 })).rejects.toThrow(message);
  });
});

describe("modules.json without a Normalize", () => {
  const files = { "1_Pooling/config.json": pooling("cls_token") };
  const warningsOf = async (list: readonly unknown[] | undefined, graph = GRAPH): Promise<readonly string[]> => {
    const listed = list === undefined ? {} : { "modules.json": list };
    return (await openEmbedder({ model: await exportFolder(graph, { ...files, ...listed }) })).warnings;
  };
  const scaled = [expect.stringContaining("`modules.json` has no Normalize, but vectors are scaled to length 1")];

  test("is a warning, also where the graph pools by itself", async () => {
    expect(await warningsOf(modules(TRANSFORMER, POOLING))).toEqual(scaled);
    // Its mean counts padding, of which there is another warning.
    const graph = tableGraph({ width: 2, output: "mean" });
    expect(await warningsOf(modules(TRANSFORMER, POOLING), graph)).toEqual(expect.arrayContaining(scaled));
  });

  test("is no warning where the file has one, or where there is no such file", async () => {
    expect(await warningsOf(modules(TRANSFORMER, POOLING, ["Normalize", "2_Normalize"]))).toEqual([]);
    expect(await warningsOf(undefined)).toEqual([]);
  });
});

describe("an unknown part of an export", () => {
  test.each([
    [
      "a module",
      modules(TRANSFORMER, POOLING, ["LayerNorm", "2_LayerNorm"]),
      pooling("cls_token"),
      "`sentence_transformers.models.LayerNorm` of 2_LayerNorm",
    ],
    [
      "a module of another package",
      modules(["custom_st.Transformer", ""], POOLING),
      pooling("cls_token"),
      "`custom_st.Transformer`",
    ],
    ["a way of pooling", modules(TRANSFORMER, POOLING), pooling("attention"), "`attention`"],
    ["a way that objects have as a property", modules(TRANSFORMER, POOLING), pooling("constructor"), "`constructor`"],
    ["a model without pooling", modules(TRANSFORMER), pooling("cls_token"), "--pooling"],
    [
      "another width",
      modules(TRANSFORMER, POOLING),
      { ...pooling("cls_token"), word_embedding_dimension: 9 },
      "says 9",
    ],
  ])("is refused at start by name: %s", async (_, list, config, message) => {
    const model = await exportFolder(GRAPH, { "modules.json": list, "1_Pooling/config.json": config });
    await expect(Embedder.open({ model, workers: 1 })).rejects.toThrow(message);
  });

  test("is refused with the option where the graph pools by itself", async () => {
    const model = await exportFolder(tableGraph({ output: "mean" }));
    await expect(Embedder.open({ model, workers: 1, pooling: "cls" })).rejects.toThrow("leave --pooling out");
  });
});

describe("other files of sentence-transformers", () => {
  const cased = {
    ...wordPieceDefinition(),
    normalizer: {
      type: "BertNormalizer",
      lowercase: false,
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: false,
    },
  };

  test("that require lower case get it", async () => {
    const files = { "tokenizer.json": cased, "sentence_bert_config.json": { max_seq_length: 16, do_lower_case: true } };
    const embedder = await openEmbedder({ model: await exportFolder(GRAPH, files), pooling: "mean" });
    const plain = await openEmbedder({
      model: await exportFolder(GRAPH, { "tokenizer.json": cased }),
      pooling: "mean",
    });
    expect((await embedder.tokenize(["PIANO"]))[0]?.ids).toEqual(LIST);
    expect((await plain.tokenize(["PIANO"]))[0]?.ids).not.toEqual(LIST);
  });

  test("that put a prompt before every text are a warning", async () => {
    const config = { prompts: { query: "query: ", none: "" }, default_prompt_name: "query" };
    const warned = await openEmbedder({
      model: await exportFolder(GRAPH, { "config_sentence_transformers.json": config }),
      pooling: "mean",
    });
    expect(warned.warnings).toEqual([expect.stringContaining('"query: " before every text')]);
    const files = { "config_sentence_transformers.json": { ...config, default_prompt_name: null } };
    expect((await openEmbedder({ model: await exportFolder(GRAPH, files), pooling: "mean" })).warnings).toEqual([]);
  });
});

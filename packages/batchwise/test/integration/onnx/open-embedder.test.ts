import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { BatchwiseError } from "batchwise";
import { type EmbedderOptions, openEmbedder, type TextEmbedder } from "batchwise/onnx";
import { InferenceSession } from "onnxruntime-node";
import { describe, expect, onTestFinished, test } from "vitest";
import { hashingTokenizer } from "../../../../server/src/models/hashing-tokenizer.ts";
import { WORD_PIECES, wordPieceDefinition } from "../../../../server/test/support/word-piece.ts";
import { encoder, fileOf, maxDifference } from "./kit.ts";

const tokenizer = hashingTokenizer(1024);

async function opened(options: Partial<EmbedderOptions> = {}): Promise<TextEmbedder> {
  const model = { path: fileOf(encoder({ maxTokens: 64 })), tokenizer, maxTokens: 64 };
  const embedder = await openEmbedder({ model, workers: 2, ...options });
  onTestFinished(() => embedder.close());
  return embedder;
}

/**
 * A folder as sentence-transformers exports it, whose files ask for the vector of the first token.
 */
function exported(files: Readonly<Record<string, unknown>> = {}): string {
  const path = fileOf(encoder({ vocabulary: WORD_PIECES.length, output: "tokens", maxTokens: 32 }));
  const folder = dirname(path);
  const modules = [
    { type: "sentence_transformers.models.Transformer", path: "" },
    { type: "sentence_transformers.models.Pooling", path: "1_Pooling" },
    { type: "sentence_transformers.models.Normalize", path: "2_Normalize" },
  ];
  const all = {
    "tokenizer.json": wordPieceDefinition(),
    "config.json": { max_position_embeddings: 32 },
    "modules.json": modules,
    "1_Pooling/config.json": { word_embedding_dimension: 32, pooling_mode_cls_token: true },
    ...files,
  };
  for (const [name, content] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), JSON.stringify(content));
  }
  return folder;
}

const words = (count: number, first: number): string =>
  Array.from({ length: count }, (_, place) => `word${first * 31 + place}`).join(" ");

test("methods of an embedder work when they are taken off it", async () => {
  const { embed, tokenize, close } = await opened();
  const [vectors, counts] = await Promise.all([
    embed(["grey rain"]),
    ["grey rain", "piano"].map((text) => tokenize([text])),
  ]);
  expect([vectors.length, (await Promise.all(counts)).length]).toEqual([1, 2]);
  await close();
});

describe("an embedder in this process", () => {
  test("gives each text the vector of a batch of one, in any batch", async () => {
    const embedder = await opened();
    const texts = Array.from({ length: 150 }, (_, index) => words(1 + ((index * 13) % 50), index));
    const callers = await Promise.all([0, 1, 2].map((part) => embedder.embed(texts.slice(part * 50, part * 50 + 50))));
    const together = callers.flat();
    expect(embedder.batcher.stats().batches).toBeLessThan(texts.length);
    for (const [index, text] of texts.entries()) {
      const [alone] = await embedder.embed([text]);
      expect(maxDifference(together[index] ?? [], alone ?? [])).toBeLessThan(1e-5);
    }
    expect(embedder.model).toMatchObject({ dimensions: 32, maxTokens: 64, vocabularySize: 1024 });
    expect(embedder.warnings).toEqual([]);
  });

  test("follows the files of a sentence-transformers export", async () => {
    const model = exported();
    const embedder = await opened({ model });
    const text = "playing the piano";
    const [vector] = await embedder.embed([text, "grey rain"]);
    const { ids } = new Tokenizer(wordPieceDefinition() as never, {}).encode(text);
    const tensor = (of: readonly bigint[]) =>
      ({ type: "int64", data: BigInt64Array.from(of), dims: [1, of.length], location: "cpu" }) as never;
    const session = await InferenceSession.create(join(model, "model.onnx"));
    onTestFinished(() => session.release());
    const outputs: Readonly<Record<string, unknown>> = await session.run({
      input_ids: tensor(ids.map(BigInt)),
      attention_mask: tensor(ids.map(() => 1n)),
      token_type_ids: tensor(ids.map(() => 0n)),
    });
    const { data } = outputs.last_hidden_state as { readonly data: Float32Array };
    const first = data.slice(0, 32);
    const length = Math.hypot(...first);
    const expected = first.map((value) => value / length);
    expect(maxDifference(vector ?? [], expected)).toBeLessThan(1e-5);
    expect(embedder.model).toMatchObject({ maxTokens: 32 });
  });

  test("refuses a call with a text that is too long, by its place and both numbers, and cuts it with that option", async () => {
    const embedder = await opened({ name: "small" });
    const failed = embedder.embed(["short", words(100, 1)]);
    await expect(failed).rejects.toBeInstanceOf(BatchwiseError);
    await expect(failed).rejects.toMatchObject({
      code: "MODEL_INPUT",
      message: expect.stringContaining("The model small takes at most 64 tokens, but `texts[1]` has 102"),
    });
    expect(embedder.batcher.stats().submitted).toBe(0);
    await expect(embedder.embedTokens([[]])).rejects.toThrow("`lists[0]` has no tokens");
    await expect(embedder.embed("one" as never)).rejects.toThrow("Expected `texts` to be a list of strings");
    const cutting = await opened({ truncate: true });
    expect(await cutting.embed([words(100, 1)])).toHaveLength(1);
  });

  test("fails only a list of tokens that the model cannot take", async () => {
    const embedder = await opened();
    const settled = await Promise.allSettled([3, 4, 5_000, 6].map((token) => embedder.embedTokens([[1, token, 7, 2]])));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(settled[2]).toMatchObject({ reason: { code: "MODEL_INPUT" } });
  });

  test("gives no vector for ids without the special tokens that its tokenizer puts around a text", async () => {
    const embedder = await opened();
    expect(embedder.model.specialTokens).toEqual({ before: [1], after: [2] });
    const [ids] = await embedder.tokenize(["grey rain"]);
    expect(await embedder.embedTokens([ids?.ids ?? []])).toHaveLength(1);
    await expect(embedder.embedTokens([ids?.ids ?? [], [7, 8, 9]])).rejects.toMatchObject({
      code: "MODEL_INPUT",
      message:
        "Expected `lists[1]` to begin with 1 and end with 2, the special tokens that the model's tokenizer puts around a text, but it begins with 7 and ends with 9. Ids of another tokenizer mean other words here: give texts to `embed`, or ids as `tokenize` gives them",
    });
    expect(embedder.batcher.stats().submitted).toBe(1);
  });

  test("takes ids in typed arrays, too, and refuses them alike", async () => {
    const embedder = await opened();
    const [plain] = await embedder.embedTokens([[1, 7, 8, 2]]);
    const [typed] = await embedder.embedTokens([Int32Array.of(1, 7, 8, 2)]);
    expect(maxDifference(plain ?? [], typed ?? [])).toBeLessThan(1e-5);
    await expect(embedder.embedTokens([Int32Array.of(1, 7, 8)])).rejects.toThrow(
      "but it begins with 1 and ends with 8.",
    );
    await expect(embedder.embedTokens([Int32Array.of(1, 1024, 2)])).rejects.toThrow("from 0 to 1023, got");
  });

  test("takes all ids where its tokenizer adds none, or does not report them", async () => {
    const path = fileOf(encoder({ maxTokens: 64 }));
    const plain = { ...tokenizer, encode: (text: string) => tokenizer.encode(text).slice(1, -1) };
    const constant = { ...tokenizer, encode: () => [5, 6, 7] };
    for (const unmarked of [plain, constant]) {
      const embedder = await opened({ model: { path, tokenizer: unmarked, maxTokens: 64 } });
      expect(embedder.model.specialTokens).toEqual({ before: [], after: [] });
      expect(await embedder.embedTokens([[7, 8, 9]])).toHaveLength(1);
    }
  });

  test.each([[-1], [0.5], [Number.NaN], [1024], ["7"], [undefined]])("gives no vector for the id %o", async (id) => {
    const embedder = await opened();
    const message = expect.stringContaining("token ids of `lists[0]` to be integers from 0 to 1023");
    await expect(embedder.embedTokens([[1, id as number, 2]])).rejects.toMatchObject({ code: "MODEL_INPUT", message });
  });

  test("gives no vector for a text with a word for which its tokenizer has no id", async () => {
    const path = fileOf(encoder({ maxTokens: 64 }));
    const blind = {
      ...tokenizer,
      encode: (text: string) => tokenizer.encode(text).map((id) => (text === "hi" ? undefined : id)),
    };
    const embedder = await opened({ model: { path, tokenizer: blind as typeof tokenizer, maxTokens: 64 } });
    const message = expect.stringContaining("the tokenizer has no id for a word that it does not know");
    await expect(embedder.embed(["hi"])).rejects.toMatchObject({ code: "MODEL_INPUT", message });
    expect(await embedder.embed(["hello"])).toHaveLength(1);
  });

  test("lists the methods of a tokenizer", async () => {
    const path = fileOf(encoder({ maxTokens: 64 }));
    const wrapped = { ...tokenizer, encode: (text: string) => ({ ids: tokenizer.encode(text) }) };
    const opening = openEmbedder({ model: { path, tokenizer: wrapped as never, maxTokens: 64 }, workers: 1 });
    await expect(opening).rejects.toMatchObject({
      code: "MODEL_LOAD",
      message: "Expected `tokenizer.encode(text)` to give a list of token ids, got an object (Object)",
    });
  });

  test.each([
    [async () => [1, 2], "to give a list of token ids, got an object (Promise)"],
    [() => undefined, "to give a list of token ids, got `undefined`"],
    [() => Int32Array.of(1, 2), "to give a list of token ids, got an object (Int32Array)"],
    [() => [1, "word", 2], "to give a list of token ids, got `word` (string) at place 1"],
    [() => [1, 0.5], "to give a list of token ids, got `0.5` (number) at place 1"],
    [
      () => {
        throw new TypeError("no table");
      },
      'The tokenizer failed on "warm up": no table',
    ],
  ])("refuses a tokenizer that gives no list of ids: %o", async (encode, words) => {
    const described = { path: fileOf(encoder({ maxTokens: 64 })), tokenizer: { ...tokenizer, encode }, maxTokens: 64 };
    const message = expect.stringContaining(words);
    await expect(open({ model: described })).rejects.toMatchObject({ code: "MODEL_LOAD", message });
  });

  test("answers the calls accepted before it closes, and can be disposed of", async () => {
    const embedder = await opened();
    const running = embedder.embedTokens(Array.from({ length: 100 }, (_, index) => [1, 3 + index, 9, 2]));
    await embedder[Symbol.asyncDispose]();
    expect(await running).toHaveLength(100);
    await expect(embedder.embedTokens([[1, 3, 2]])).rejects.toMatchObject({ code: "CLOSED" });
    expect(embedder.ready).toBe(false);
  });

  test("refuses options that make no sense by name, and a folder without a model by its path", async () => {
    const errorOf = (options: unknown): Promise<Error & { code?: string }> =>
      openEmbedder(options as EmbedderOptions).then(
        () => new Error("opened"),
        (error: Error) => error,
      );
    const messageOf = async (options: unknown): Promise<string> => (await errorOf(options)).message;
    expect(await messageOf(undefined)).toContain("Expected `model` to be the path of an .onnx file");
    expect(await messageOf({ model: "m", modelName: "x" })).toContain("it is `name`");
    expect(await messageOf({ model: "m", concurrency: 2 })).toContain("are `workers`");
    expect(await messageOf({ model: "m", pooling: "splade" })).toContain("Expected `pooling` to be");
    const nothing =
      "There is no model at /nowhere/MiniLM; expected an .onnx file or a folder with model.onnx, as nothing";
    expect(await messageOf({ model: "/nowhere/MiniLM" })).toContain(nothing);
    expect(await messageOf("all-MiniLM-L6-v2")).toContain("Expected `options` to be an object, got `all-MiniLM-L6-v2`");
    const another = { encode: () => [1], vocabularySize: 8 };
    expect(await messageOf({ model: "m", tokenizer: another })).toContain(
      "to be the path of a tokenizer.json; a tokenizer",
    );
    const folder = exported();
    rmSync(join(folder, "tokenizer.json"));
    for (const model of ["/nowhere/MiniLM", folder])
      expect(await errorOf({ model })).toMatchObject({ code: "MODEL_LOAD" });
    expect(await messageOf({ model: folder })).toContain("name it with `tokenizer`");
    const path = fileOf(encoder());
    const described = { path, tokenizer, maxTokens: 64 };
    expect(await messageOf({ model: described, workers: 0 })).toContain("Expected `workers` to be an integer >= 1");
    expect(await messageOf({ model: described, maxQueueSize: 0 })).toContain("Expected `maxQueueSize` to be");
  });

  test.runIf(process.platform === "linux")("runs the model at a lower priority than this thread", async () => {
    const niceOf = (thread: string): string | undefined => {
      const [, fields = ""] = readFileSync(`/proc/self/task/${thread}/stat`, "utf8").split(") ");
      return fields.split(" ")[16];
    };
    await opened({ workers: 2 });
    const lower = readdirSync("/proc/self/task").filter((thread) => niceOf(thread) === "5");
    expect(lower.length).toBeGreaterThanOrEqual(2);
    expect(niceOf(String(process.pid))).toBe("0");
  });

  test("takes fewer tokens than a described model, and refuses to take more", async () => {
    const model = { path: fileOf(encoder({ maxTokens: 64 })), tokenizer, maxTokens: 64 };
    expect((await opened({ model, maxTokens: 16 })).model.maxTokens).toBe(16);
    const message = expect.stringContaining("asks for texts of 65 tokens, but the model takes at most 64");
    await expect(open({ model, maxTokens: 65 })).rejects.toMatchObject({ code: "MODEL_LOAD", message });
  });

  test.each([0, -5, 1.5, Number.NaN, Infinity, "64"])("refuses a `maxTokens` of %o", async (maxTokens) => {
    const described = { path: fileOf(encoder({ maxTokens: 64 })), tokenizer, maxTokens: 64 };
    for (const options of [
      { model: exported(), maxTokens },
      { model: described, maxTokens },
      { model: { ...described, maxTokens } },
    ]) {
      const message = expect.stringMatching(/^Expected `(model\.)?maxTokens` to be an integer >= 1/);
      await expect(open(options)).rejects.toMatchObject({ code: "INVALID_OPTION", message });
    }
  });

  test.each([
    [{ path: undefined }, "Expected `model.path` to be the path of an .onnx file"],
    [{ path: "" }, "Expected `model.path` to be the path of an .onnx file"],
    [{ maxTokens: undefined }, "Expected `model.maxTokens` to be an integer >= 1"],
    [{ tokenizer: undefined }, "Expected `model.tokenizer` to be an object with encode"],
    [{ tokenizer: { vocabularySize: 8, paddingId: 0 } }, "Expected `model.tokenizer` to be an object with encode"],
    [
      { tokenizer: { ...tokenizer, vocabularySize: 0 } },
      "Expected `model.tokenizer.vocabularySize` to be an integer >= 1",
    ],
    [{ tokenizer: { ...tokenizer, paddingId: "0" } }, "Expected `model.tokenizer.paddingId` to be an integer >= 0"],
    [{ tokenizer: { ...tokenizer, truncationSide: "top" } }, "Expected `model.tokenizer.truncationSide` to be"],
    [{ tokenizer: { ...tokenizer, splitsAtSpaces: "no" } }, "Expected `model.tokenizer.splitsAtSpaces` to be"],
    [{ firstPosition: -1 }, "Expected `model.firstPosition` to be an integer >= 0"],
    [{ pooling: "CLS" }, "Expected `model.pooling` to be"],
    [{ poolingMode: "cls" }, "Unknown option `model.poolingMode`"],
  ])("refuses a description and names the fault: %o", async (change, message) => {
    const model = { path: fileOf(encoder({ maxTokens: 64 })), tokenizer, maxTokens: 64, ...change };
    await expect(open({ model })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining(message),
    });
  });

  test("takes a tokenizer that is of a class", async () => {
    class Words {
      get vocabularySize(): number {
        return tokenizer.vocabularySize;
      }
      get paddingId(): number {
        return tokenizer.paddingId;
      }
      encode(text: string): readonly number[] {
        return tokenizer.encode(text);
      }
    }
    const model = { path: fileOf(encoder({ maxTokens: 64 })), tokenizer: new Words(), maxTokens: 64 };
    expect(await (await opened({ model })).embed(["hello"])).toHaveLength(1);
  });

  test("tokenises no more texts of a call whose signal aborts", async () => {
    let encoded = 0;
    const caller = new AbortController();
    const slow = {
      ...tokenizer,
      encode(text: string) {
        encoded += 1;
        if (text === "text 2") caller.abort(new Error("enough"));
        return tokenizer.encode(text);
      },
    };
    const embedder = await opened({
      model: { path: fileOf(encoder({ maxTokens: 64 })), tokenizer: slow, maxTokens: 64 },
    });
    encoded = 0;
    const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
    await expect(embedder.embed(texts, { signal: caller.signal })).rejects.toThrow("enough");
    expect(encoded).toBe(3);
  });
});

/** With options of the wrong types; closed with the test if it opens nevertheless. */
async function open(options: object): Promise<void> {
  const embedder = await openEmbedder({ workers: 1, ...options } as EmbedderOptions);
  onTestFinished(() => embedder.close());
}

import type { WorkerOptions } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { TokenThread } from "../../../src/onnx/text/token-thread.ts";
import { tokenizeAll } from "../../../src/onnx/text/tokenize-all.ts";
import {
  endlessWordPiece,
  hardTexts,
  KINDS,
  loadKind,
  tokenizerJson,
  WORDS,
  writtenTokenizer,
} from "../../onnx/text/tokenizer-kinds.ts";

const LIMIT = { maxTokens: 512, truncate: true };

async function threadOf(definition: Record<string, unknown>, workerOptions: WorkerOptions = {}): Promise<TokenThread> {
  const file = { path: await writtenTokenizer(definition), lowers: false };
  const thread = new TokenThread({ file, limit: LIMIT }, workerOptions);
  onTestFinished(() => thread.close());
  return thread;
}

const words = (count: number): string => Array.from({ length: count }, (_, at) => WORDS[at % WORDS.length]).join(" ");
/** Those of the process, which other test files share. */
const workers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Worker").length;
const named = (text: string): { name: string; text: string } => ({ name: "input", text });

describe.each(KINDS)("with %s", (kind) => {
  test("long texts among short ones get the ids that they have in this thread, in their order", async () => {
    const [tokenizer, thread] = [await loadKind(kind), await threadOf(tokenizerJson(kind))];
    const texts = [words(3), words(400), "a", words(300), words(20), ...Object.values(hardTexts(3_000))];
    const here = await tokenizeAll({ tokenizer, limit: LIMIT }, texts);
    expect(await tokenizeAll({ tokenizer, limit: LIMIT, thread }, texts)).toEqual(here);
    const rejected = tokenizeAll({ tokenizer, limit: LIMIT, thread }, ["a", "a".repeat(51_201)]);
    await expect(rejected).rejects.toMatchObject({
      code: "MODEL_INPUT",
      message: expect.stringMatching(/^`texts\[1\]` has 51201 characters, and at most 51200/),
    });
  });
});

test("a text that takes too long fails by itself, with the limit, and those behind it get a new thread", async () => {
  const thread = await threadOf(endlessWordPiece());
  const before = await thread.tokensOf(named(words(400)));
  const [slow, next] = await Promise.allSettled([
    thread.tokensOf(named("q".repeat(40_000))),
    thread.tokensOf({ name: "another", text: words(400) }),
  ]);
  expect(slow).toMatchObject({
    reason: { code: "MODEL_INPUT", message: "The tokenizer failed on `input`: it took more than 5000 ms" },
  });
  expect(next).toMatchObject({ status: "fulfilled", value: before });
});

test("a text that takes all memory of the thread fails by itself", async () => {
  const thread = await threadOf(tokenizerJson("Unigram"), { resourceLimits: { maxOldGenerationSizeMb: 24 } });
  const [hungry, next] = await Promise.allSettled([
    thread.tokensOf(named("ab".repeat(25_000))),
    thread.tokensOf(named(words(400))),
  ]);
  expect(hungry).toMatchObject({ reason: { code: "MODEL_INPUT", message: expect.stringContaining("memory") } });
  expect(next.status).toBe("fulfilled");
});

test("a caller who cancels is answered at once; the texts of others are tokenised", async () => {
  const thread = await threadOf(tokenizerJson("Unigram"));
  await thread.tokensOf(named(words(400)));
  const caller = new AbortController();
  const running = thread.tokensOf(named("\u4e01".repeat(8_000)), caller.signal);
  const waiting = thread.tokensOf(named("\u4e01".repeat(8_000)), caller.signal);
  const other = thread.tokensOf(named(words(300)));
  caller.abort(new Error("left"));
  await expect(Promise.race([running, other])).rejects.toThrow("left");
  await expect(waiting).rejects.toThrow("left");
  expect((await other).tokens).toBeGreaterThan(300);
  await expect(thread.tokensOf(named("a"), caller.signal)).rejects.toThrow("left");
});

test("a tokenizer that cannot be loaded there rejects the text, and the next text tries again", async () => {
  const thread = new TokenThread({ file: { path: "/nowhere/tokenizer.json", lowers: false }, limit: LIMIT });
  for (let round = 0; round < 2; round += 1) {
    await expect(thread.tokensOf(named("a"))).rejects.toThrow("Cannot read the tokenizer /nowhere/tokenizer.json");
  }
  await thread.close();
});

test("close tokenises the given texts, ends the thread, and takes no more", async () => {
  const others = workers();
  const thread = await threadOf(tokenizerJson("WordPiece"));
  const given = [thread.tokensOf(named(words(400))), thread.tokensOf(named(words(300)))];
  await Promise.all([thread.close(), thread.close()]);
  expect((await Promise.all(given)).map(({ tokens }) => tokens)).toEqual([402, 302]);
  await expect(thread.tokensOf(named("a"))).rejects.toMatchObject({ code: "CLOSED" });
  expect(workers()).toBeLessThanOrEqual(others);
});

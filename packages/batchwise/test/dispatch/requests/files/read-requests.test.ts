import { createReadStream, writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { runInNewContext } from "node:vm";
import { afterAll, expect, test } from "vitest";
import type { BatchLine, DispatchRequest } from "../../../../src/dispatch/contract/types.ts";
import { lineOf, readRequests, type TextSource } from "../../../../src/dispatch/requests/files/read-requests.ts";
import { makeFolder } from "../../stores/sqlite/folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

async function all(source: TextSource): Promise<(DispatchRequest | BatchLine)[]> {
  const requests: (DispatchRequest | BatchLine)[] = [];
  for await (const request of readRequests(source)) requests.push(request);
  return requests;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function cut(text: string, size: number): Uint8Array[] {
  const whole = bytes(text);
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, n) => whole.subarray(n * size, (n + 1) * size));
}

const body = { model: "m", input: "ü€😀\u2028" };

test.each([1, 2, 3, 5, 1_000])("gives whole requests however the bytes arrive, %i at a time", async (size) => {
  const text = `\uFEFF{"id":"a","body":${JSON.stringify(body)}}\r\n\r\n  \n${JSON.stringify(body)}`;
  expect(await all(cut(text, size))).toEqual([{ id: "a", body }, { body }]);
});

test("reads web streams with and without an iterator, Node streams, files and strings", async () => {
  const text = `${JSON.stringify({ id: "a", body })}\n${JSON.stringify({ id: "b", body })}`;
  const file = folder.file();
  writeFileSync(file, text);
  const web = (): ReadableStream<Uint8Array> => new Blob([text]).stream();
  const stream = web();
  const sources: TextSource[] = [
    web(),
    { getReader: () => stream.getReader() },
    Readable.from([Buffer.from(text)]),
    [runInNewContext("new Uint8Array(bytes)", { bytes: bytes(text) })],
    createReadStream(file, { highWaterMark: 3 }),
    createReadStream(file, { encoding: "utf8", highWaterMark: 3 }),
    [text.slice(0, 20), text.slice(20)],
  ];
  for (const source of sources) {
    expect(await all(source)).toEqual([
      { id: "a", body },
      { id: "b", body },
    ]);
  }
});

test("takes lines of OpenAI's batch files, without the fields that other services omit", async () => {
  const lines = [
    { custom_id: "full", method: "POST", url: "/v1/embeddings", body },
    { custom_id: "azure", method: "POST", url: "/embeddings", body },
    { custom_id: "no method", url: "/v1/embeddings", body },
    { custom_id: "together", body },
  ];
  expect(await all([lines.map((line) => JSON.stringify(line)).join("\n")])).toEqual([
    { custom_id: "full", method: "POST", url: "/v1/embeddings", body },
    { custom_id: "azure", method: "POST", url: "/v1/embeddings", body },
    { custom_id: "no method", method: "POST", url: "/v1/embeddings", body },
    { id: "together", body },
  ]);
});

test("takes requests with all their fields, and bare bodies, whose id is the request's", async () => {
  const request = { id: "a", job: "j", priority: 1, deadlineAt: 5, tenant: "t", metadata: { k: "v" }, body };
  const chat = { model: "m", messages: [{ role: "user", content: "Hi" }] };
  const text = [request, chat, { id: "b", ...chat }].map((line) => JSON.stringify(line)).join("\n");
  expect(await all([text])).toEqual([request, { body: chat }, { id: "b", body: chat }]);
});

test("reports the line of each request it gave, blank lines counted", async () => {
  const [first, second] = await all([`\n${JSON.stringify(body)}\n\n${JSON.stringify(body)}\n`]);
  expect([lineOf(first as DispatchRequest), lineOf(second as DispatchRequest)]).toEqual([2, 4]);
  expect(lineOf({ body })).toBeUndefined();
});

test("an empty stream, and one of blank lines, gives nothing", async () => {
  expect(await all([])).toEqual([]);
  expect(await all(["\uFEFF\n \r\n\n"])).toEqual([]);
});

test.each([
  ["nonsense", "Line 2: expected JSON, got nonsense (Unexpected token"],
  ["{", "Line 2: expected JSON, got {. JSONL has each request whole in one line, and no list around them."],
  ["[", "Line 2: expected JSON, got [. JSONL has each request whole in one line, and no list around them."],
  ["[{}]", "Line 2: expected one JSON object, got a list."],
  ["7", "Line 2: expected one JSON object, got 7."],
  [
    "{}",
    "Line 2: expected a line of an OpenAI batch file, `{ body, id? }`, or a body with `messages` or `input`, got an",
  ],
  ['{"text":"x"}', "or `input`, got an object with only `text`."],
  ['{"body":"x"}', 'Line 2: expected an object as `body`, got "x".'],
  ['{"id":7,"body":{}}', "Line 2: expected a string as `id`, got 7."],
  ['{"id":7,"input":"x"}', "Line 2: expected a string as `id`, got 7."],
  ['{"body":{},"colour":"red"}', "Line 2: expected only the fields `body`, `id`, `job`"],
  ['{"custom_id":7,"body":{}}', "Line 2: expected a string as `custom_id`, got 7."],
  ['{"custom_id":"a"}', "Line 2: expected an object as `body`, got none."],
  ['{"custom_id":"a","method":"GET","body":{}}', 'Line 2: expected the `method` "POST", got "GET".'],
  ['{"custom_id":"a","url":1,"body":{}}', "Line 2: expected a string as `url`, got 1."],
  ['{"custom_id":"a","params":{}}', "Line 2: expected `body`, in OpenAI's shape, got `params`, as for Anthropic's API"],
])("refuses the line %s, with the place, the expected and the actual value", async (line, message) => {
  const error = await all([`${JSON.stringify({ body })}\n${line}\n`]).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "INVALID_REQUEST", message: expect.stringContaining(message) });
});

test("refuses bytes that are not UTF-8, and a file that was cut within a character", async () => {
  const expected = { code: "INVALID_REQUEST", message: "In or after line 2: expected text in UTF-8, got other bytes." };
  const line = bytes(`${JSON.stringify({ body })}\n`);
  await expect(all([line, new Uint8Array([0x7b, 0xff, 0xfe])])).rejects.toMatchObject(expected);
  await expect(all([line, bytes('{"id":"ü').subarray(0, 8)])).rejects.toMatchObject(expected);
});

test("refuses a line over the limit before it has read it", async () => {
  let given = 0;
  const endless = function* (): Generator<string> {
    for (; ; given += 1) yield "x".repeat(1_000);
  };
  const reading = readRequests(endless(), { maxLineLength: 10_000 }).next();
  await expect(reading).rejects.toThrow("Line 1: expected at most 10000 characters in a line, got more.");
  expect(given).toBeLessThan(20);
});

test("joins a line of megabytes in small chunks with linear work", async () => {
  const long = { model: "m", input: "x".repeat(8_000_000) };
  const [request] = await all(cut(JSON.stringify(long), 1_000));
  expect(request).toEqual({ body: long });
});

test("reads no further than its reader, and releases its source when the reader breaks off", async () => {
  let [given, closed] = [0, false];
  const source = async function* (): AsyncGenerator<string> {
    try {
      for (; ; given += 1) yield `${JSON.stringify({ body })}\n`;
    } finally {
      closed = true;
    }
  };
  for await (const request of readRequests(source())) {
    expect(request).toEqual({ body });
    break;
  }
  expect([given, closed]).toEqual([0, true]);
});

test("rejects with the error of its source", async () => {
  const source = async function* (): AsyncGenerator<string> {
    yield `${JSON.stringify({ body })}\n`;
    throw new Error("The disk is gone.");
  };
  await expect(all(source())).rejects.toThrow("The disk is gone.");
});

test.each([
  ["input.jsonl", "Expected a stream of bytes or text, got a string: pass createReadStream(path)"],
  [Buffer.from("{}"), "Expected a stream of bytes or text, got an object of Buffer"],
  [null, "got null"],
  [undefined, "got a undefined"],
])("refuses %s, which is no stream", (source, message) => {
  expect(() => readRequests(source as unknown as TextSource)).toThrow(message);
});

test("refuses chunks that are neither bytes nor text, and options that it does not know", async () => {
  await expect(all([{ body }] as unknown as string[])).rejects.toThrow("Expected chunks that are a Uint8Array or a");
  expect(() => readRequests([], { maxLineLenght: 1 } as object)).toThrow("maxLineLength");
  expect(() => readRequests([], { maxLineLength: 0 })).toThrow("Expected `maxLineLength` to be an integer >= 1");
});

import { expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { readJsonLines } from "../../../../../src/dispatch/providers/shapes/lines/read-lines.ts";

const encoder = new TextEncoder();

/** The bytes in chunks of this size, as a web stream without an iterator. */
function stream(
  text: string,
  size: number,
  fail?: Error,
): { getReader(): unknown; readonly state: { cancelled: boolean } } {
  const bytes = encoder.encode(text);
  const state = { cancelled: false };
  let at = 0;
  const read = async (): Promise<unknown> => {
    if (at >= bytes.length && fail !== undefined) throw fail;
    if (at >= bytes.length) return { done: true, value: undefined };
    at += size;
    return { done: false, value: bytes.subarray(at - size, at) };
  };
  const cancel = async (): Promise<void> => {
    state.cancelled = true;
  };
  return { state, getReader: () => ({ read, cancel }) };
}

async function all(body: unknown): Promise<JsonObject[]> {
  const lines: JsonObject[] = [];
  for await (const line of readJsonLines(body)) lines.push(line);
  return lines;
}

test.each([1, 2, 3, 7, 1_000])("lines are whole however the bytes arrive, %i at a time", async (size) => {
  const text = `{"a":"ü€😀"}\n\r\n{"b":2}\r\n{"c":3}`;
  expect(await all(stream(text, size))).toEqual([{ a: "ü€😀" }, { b: 2 }, { c: 3 }]);
});

test("a line of megabytes in small chunks takes no more than linear work", async () => {
  const value = "x".repeat(4_000_000);
  const started = performance.now();
  const [line] = await all(stream(`{"value":"${value}"}\n`, 1_024));
  expect(line?.value).toBe(value);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("a line that never ends is not held: the others are given, and it is reported", async () => {
  const lines: JsonObject[] = [];
  const read = async (): Promise<void> => {
    const text = `{"a":1}\n{"b":"${"x".repeat(500)}"}\n{"c":3}\n`;
    for await (const line of readJsonLines(stream(text, 7), 100)) lines.push(line);
  };
  await expect(read()).rejects.toMatchObject({
    code: "RESULTS_UNREADABLE",
    message: expect.stringContaining("Line 2"),
  });
  expect(lines).toEqual([{ a: 1 }, { c: 3 }]);
});

test("nothing, an empty body and blank lines give no line", async () => {
  expect(await all(null)).toEqual([]);
  expect(await all(stream("", 1))).toEqual([]);
  expect(await all(stream("\n\n \n", 2))).toEqual([]);
});

test.each(['{"a":1}\n{"b":', "[1]\n", '"text"\n', "null\n"])("%j is unreadable", async (text) => {
  await expect(all(stream(text, 3))).rejects.toMatchObject({ code: "RESULTS_UNREADABLE", retryable: true });
});

test("a source that fails in the middle fails the reading, with its own error", async () => {
  const broken = new Error("reset");
  const lines: JsonObject[] = [];
  const reading = async (): Promise<void> => {
    for await (const line of readJsonLines(stream('{"a":1}\n{"b":2}\n', 8, broken))) lines.push(line);
  };
  await expect(reading()).rejects.toBe(broken);
  expect(lines).toEqual([{ a: 1 }, { b: 2 }]);
});

test("a reader that stops early frees its source", async () => {
  const source = stream('{"a":1}\n{"b":2}\n', 8);
  for await (const line of readJsonLines(source)) if (line.a === 1) break;
  expect(source.state.cancelled).toBe(true);
});

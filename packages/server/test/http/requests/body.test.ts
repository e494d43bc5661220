// Bodies as they come from a hostile or an odd client.

import { describe, expect, test } from "vitest";
import { Upload, Uploads } from "../../../src/http/large-bodies/uploads.ts";
import { jsonObjectIn, readBytes } from "../../../src/http/requests/body.ts";
import { Exchange } from "../../../src/http/requests/exchange.ts";

const LIMITS = { maxBytes: 1_000_000, stallMs: 1_000 };

/** Reads a body that comes in these chunks. */
function read(
  chunks: Iterator<Uint8Array>,
  headers: Record<string, string> = {},
  maxBytes: number = LIMITS.maxBytes,
): Promise<Uint8Array> {
  const { signal } = new AbortController();
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const { done, value } = chunks.next();
    if (done === true) controller.close();
    else controller.enqueue(value);
  };
  const body = new ReadableStream({ pull }, { highWaterMark: 0 });
  const request = new Request("http://localhost/", { method: "POST", body, headers, duplex: "half" });
  return readBytes(
    { request, exchange: new Exchange(undefined) },
    { ...LIMITS, maxBytes },
    new Upload(new Uploads(LIMITS.maxBytes, LIMITS.maxBytes), ""),
    signal,
  );
}

/** A chunk a byte, all in the same memory: right only for who copies each as it comes. */
function* bytesOf(text: string): Generator<Uint8Array> {
  const chunk = new Uint8Array(1);
  for (const byte of new TextEncoder().encode(text)) {
    chunk[0] = byte;
    yield chunk;
  }
}

describe("a body in chunks of a byte", () => {
  const text = "0123456789".repeat(3_000);

  test("is copied as it comes, so that it takes no more than its size", async () => {
    expect(new TextDecoder().decode(await read(bytesOf(text)))).toBe(text);
    expect(new TextDecoder().decode(await read(bytesOf(text), { "content-length": "30000" }))).toBe(text);
  });

  test("lets other work in between", async () => {
    let passes = 0;
    let over = false;
    const count = (): void => {
      passes += 1;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    await read(bytesOf(text));
    over = true;
    // None, if it reads all in one go.
    expect(passes).toBeGreaterThan(1);
  });

  test("is refused as soon as it is too large", async () => {
    await expect(read(bytesOf("x".repeat(30_001)), {}, 30_000)).rejects.toMatchObject({ status: 413 });
  });
});

describe("bytes that are no UTF-8", () => {
  test.each([
    ["Latin-1", Buffer.from('{"input":"caf\u00e9"}', "latin1")],
    ["half a character", Buffer.concat([Buffer.from('{"input":"caf'), Buffer.from([0xc3]), Buffer.from('"}')])],
    ["UTF-16", Buffer.from('{"input":"caf\u00e9"}', "utf16le")],
  ])("%s: are refused and not read as other characters", (_, bytes) => {
    expect(() => jsonObjectIn(bytes)).toThrow(expect.objectContaining({ status: 400, code: "invalid_json" }));
  });

  test("are not those of a file that begins with a byte order mark", () => {
    expect(jsonObjectIn(Buffer.from('\ufeff{"input":"caf\u00e9"}'))).toEqual({ input: "caf\u00e9" });
  });
});

describe("JSON", () => {
  const nested = (depth: number): Uint8Array => Buffer.from(`{"x":${"[".repeat(depth)}${"]".repeat(depth)}}`);

  test("is refused at the first bracket that is too deep", () => {
    expect(jsonObjectIn(nested(99))).toHaveProperty("x");
    for (const bytes of [nested(100), Buffer.from('{"x":'.repeat(101)), Buffer.from("[".repeat(4_000_000))]) {
      expect(() => jsonObjectIn(bytes)).toThrow(expect.objectContaining({ status: 400, code: "invalid_json" }));
    }
  });

  test("may have any brackets in its texts, and any number side by side", () => {
    const text = `${"[{".repeat(200)}\\"[\\\\`;
    expect(jsonObjectIn(Buffer.from(JSON.stringify({ text })))).toEqual({ text });
    const many = { x: Array.from({ length: 500 }, () => [{}]) };
    expect(jsonObjectIn(Buffer.from(JSON.stringify(many)))).toEqual(many);
  });

  test.each(["[]", "{}", '{"a":1}'])("is refused with too many of %s", (part) => {
    const bytes = Buffer.from(`{"x":[${`${part},`.repeat(20_000)}1]}`);
    const message = expect.stringContaining("more than 20000 arrays, objects and fields");
    expect(() => jsonObjectIn(bytes)).toThrow(expect.objectContaining({ status: 400, message }));
  });
});

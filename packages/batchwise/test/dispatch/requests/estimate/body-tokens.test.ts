// Estimated tokens of a body's text, images, audio and files.

import { estimateTokens } from "batchwise";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { tokensOf } from "../../../../src/dispatch/requests/estimate/body-tokens.ts";
import { imageSize } from "../../../../src/dispatch/requests/estimate/image-size.ts";

/** A base64 file of this many bytes with this beginning. */
function fileOf(start: readonly number[] | string, bytes = 300): string {
  const file = Buffer.alloc(bytes);
  (typeof start === "string" ? Buffer.from(start, "latin1") : Buffer.from(start)).copy(file);
  return file.toString("base64");
}
const be16 = (value: number): number[] => [value >> 8, value & 255];
const le16 = (value: number): number[] => [value & 255, value >> 8];
const letters = (text: string): number[] => [...Buffer.from(text, "latin1")];

const png = (width: number, height: number, bytes = 300): string =>
  fileOf(
    [0x89, ...letters("PNG\r\n\x1a\n"), 0, 0, 0, 13, ...letters("IHDR"), 0, 0, ...be16(width), 0, 0, ...be16(height)],
    bytes,
  );
const gif = (width: number, height: number): string => fileOf([...letters("GIF89a"), ...le16(width), ...le16(height)]);
const webp = (kind: string, ...rest: number[]): string =>
  fileOf([...letters("RIFF....WEBP"), ...letters(kind), ...rest]);
/** A JPEG with a comment of this many bytes before its frame. */
const jpeg = (width: number, height: number, comment = 20, frame = 0xc0): string =>
  fileOf(
    [
      ...[0xff, 0xd8, 0xff, 0xfe, ...be16(comment + 2), ...Array<number>(comment).fill(0x20)],
      ...[0xff, 0xff, 0xc4, ...be16(4), 0, 0, 0xff, frame, ...be16(17), 8, ...be16(height), ...be16(width)],
    ],
    70_000,
  );

describe("the size of an image is read from its head:", () => {
  test.each([
    ["PNG", png(640, 480)],
    ["GIF", gif(640, 480)],
    ["JPEG", jpeg(640, 480)],
    ["JPEG after 60 KB of a photo's data", jpeg(640, 480, 60_000)],
    ["progressive JPEG", jpeg(640, 480, 20, 0xc2)],
    ["WebP, lossy", webp("VP8 ", ...Array<number>(10).fill(0), ...le16(640), ...le16(480))],
    ["WebP, lossless", webp("VP8L", 0, 0, 0, 0, 0x2f, ...[0x7f, 0xc2, 0x77, 0x00])],
    ["WebP, extended", webp("VP8X", ...Array<number>(8).fill(0), ...le16(639), 0, ...le16(479), 0)],
  ])("%s", (_name, base64) => {
    expect(imageSize(base64)).toEqual({ width: 640, height: 480 });
  });

  test.each([
    ["of something else", fileOf("%PDF-1.7")],
    ["of a file that ends early", png(640, 480).slice(0, 20)],
    ["of a JPEG without a frame", fileOf([0xff, 0xd8, 0xff, 0xfe, 0, 4])],
    ["without a width", png(0, 480)],
    ["of what is no base64", "***"],
    ["of nothing", ""],
  ])("none %s", (_name, base64) => {
    expect(imageSize(base64)).toBeNull();
  });
});

const chat = (...content: Json[]): JsonObject => ({ messages: [{ role: "user", content }] });
const image = (url: string, detail?: string): Json => ({ type: "image_url", image_url: { url, detail } });
const source = (type: string, source: Json): Json => ({ type, source });
const wav = (bytesASecond: number): string =>
  fileOf([...letters("RIFF....WAVEfmt "), 16, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, ...le16(bytesASecond), 0, 0], 96_000);

describe("a part of a message counts", () => {
  test.each<[string, Json, number]>([
    ["an image by its size", image(`data:image/png;base64,${png(750, 1_000)}`), 1_000],
    ["a large image as one cut down", image(`data:image/png;base64,${png(4_000, 3_000, 2_000_000)}`), 1_600],
    ["a small image as one in low detail", image(`data:image/png;base64,${png(10, 10)}`), 85],
    ["an image in low detail", image(`data:image/png;base64,${png(750, 1_000)}`, "low"), 85],
    ["an image at an address as a large one", image("https://example.com/a.png"), 1_600],
    ["an image nobody can read as a large one", image(`data:image/heic;base64,${fileOf("heic")}`), 1_600],
    ["an image with a charset in its address", image(`data:image/png;x=y;base64,${png(750, 1_000)}`), 1_000],
    ["an image of a response", { type: "input_image", image_url: `data:image/png;base64,${png(750, 1_000)}` }, 1_000],
    ["an image of a response in low detail", { type: "input_image", file_id: "file-1", detail: "low" }, 85],
    [
      "an image as Anthropic has it",
      source("image", { type: "base64", media_type: "image/png", data: png(750, 500) }),
      500,
    ],
    ["one at an address", source("image", { type: "url", url: "https://example.com/a.png" }), 1_600],
    [
      "speech in mp3 by its length",
      { type: "input_audio", input_audio: { data: fileOf("ID3", 480_000), format: "mp3" } },
      300,
    ],
    ["speech in wav by its header", { type: "input_audio", input_audio: { data: wav(32_000), format: "wav" } }, 30],
    [
      "speech in wav without a header",
      { type: "input_audio", input_audio: { data: fileOf("", 96_000), format: "wav" } },
      20,
    ],
    [
      "a PDF by its size",
      { type: "file", file: { file_data: `data:application/pdf;base64,${fileOf("%PDF", 150_000)}` } },
      6_000,
    ],
    [
      "a text file by its length",
      { type: "file", file: { file_data: `data:text/csv;base64,${fileOf("a,b", 4_000)}` } },
      1_000,
    ],
    ["a file by its id as a page", { type: "file", file: { file_id: "file-1" } }, 2_000],
    ["a file of a response", { type: "input_file", file_data: fileOf("%PDF", 10) }, 2_000],
    [
      "a document as Anthropic has it",
      source("document", { type: "base64", media_type: "application/pdf", data: fileOf("%PDF", 60_000) }),
      4_000,
    ],
    [
      "what a tool gives back",
      { type: "tool_result", tool_use_id: "t", content: [image("https://example.com/a.png")] },
      1_600 + 13,
    ],
  ])("%s", (_name, part, tokens) => {
    const text = { type: "text", text: "What is this?" };
    expect(tokensOf(chat(text, part), true)).toBe(tokensOf(chat(text), true) + tokens);
    const input = [{ role: "user", content: [part] }];
    expect(Math.abs(tokensOf({ input }, true) - tokens)).toBeLessThan(35);
  });
});

describe("a block of a request of Converse's own counts", () => {
  const inS3 = { s3Location: { uri: "s3://a/b.mp4" } };
  test.each<[string, JsonObject, number]>([
    ["an image by its size", { image: { format: "png", source: { bytes: png(750, 1_000) } } }, 1_000],
    ["speech by its length", { audio: { format: "mp3", source: { bytes: fileOf("ID3", 480_000) } } }, 300],
    ["a PDF by its size", { document: { format: "pdf", source: { bytes: fileOf("%PDF", 150_000) } } }, 6_000],
    ["a text by its length", { document: { format: "csv", source: { bytes: fileOf("a,b", 8_000) } } }, 2_000],
    ["a film in S3 as a page", { video: { format: "mp4", source: inS3 } }, 2_000],
  ])("%s", (_name, part, tokens) => {
    const bodyOf = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: "user", content }] });
    expect(Math.abs(tokensOf(bodyOf({ text: "What is this?" }, part), true) - tokens)).toBeLessThan(35);
  });
});

describe("a part of a request of Gemini's own counts", () => {
  test.each<[string, JsonObject, number]>([
    ["an image by its size", { inlineData: { mimeType: "image/png", data: png(750, 1_000) } }, 1_000],
    ["speech by its length", { inlineData: { mimeType: "audio/mp3", data: fileOf("ID3", 480_000) } }, 300],
    ["a PDF by its size", { inlineData: { mimeType: "application/pdf", data: fileOf("%PDF", 150_000) } }, 6_000],
    ["an image at an address", { fileData: { mimeType: "image/png", fileUri: "gs://a/b.png" } }, 1_600],
    ["an uploaded file", { fileData: { fileUri: "https://example.com/files/a" } }, 2_000],
  ])("%s", (_name, part, tokens) => {
    const bodyOf = (...parts: JsonObject[]): JsonObject => ({ contents: [{ role: "user", parts }] });
    const text = { text: "What is this?" };
    expect(Math.abs(tokensOf(bodyOf(text, part), true) - tokens)).toBeLessThan(35);
    expect(tokensOf(bodyOf(text), true)).toBe(estimateTokens(bodyOf(text)));
  });
});

describe("text counts as ever", () => {
  const contents: readonly (readonly [string, Json])[] = [
    ["alone", "The quick brown fox!"],
    ["in another alphabet", "日本語"],
    ["in parts", [{ type: "text", text: "grüße 🎈" }]],
    ["as an unknown part", [{ type: "video", video: "abc" }]],
    ["as a document", [source("document", { type: "text", media_type: "text/plain", data: "word ".repeat(50) })]],
    ["as parts that are broken", [null, { type: "image", source: 1 }]],
  ];
  test.each(contents)("%s", (_name, content) => {
    for (const body of [{ messages: [{ role: "user", content }] }, { messages: [{ role: "tool", content }, null] }]) {
      expect(tokensOf(body as JsonObject, false)).toBe(estimateTokens(body));
    }
  });

  test.each<[string, Json]>([
    ["a text", "abc"],
    ["texts", ["abc", "def"]],
    ["tokens", [1, 2, 3]],
    ["lists of tokens", [[1, 2], [3]]],
  ])("to embed: %s", (_name, input) => {
    expect(tokensOf({ input }, true)).toBe(estimateTokens({ input }));
  });

  test("of an ASCII body, sooner", () => {
    for (const body of [chat({ type: "text", text: "abc" }), { input: ["abcdefgh"] }, { other: "abc" }]) {
      expect(tokensOf(body, true)).toBe(estimateTokens(body));
    }
  });
});

test("a body is not changed by being counted", () => {
  const body = chat({ type: "text", text: "a" }, image(`data:image/png;base64,${png(750, 1_000)}`));
  const before = JSON.stringify(body);
  tokensOf(body, true);
  expect(JSON.stringify(body)).toBe(before);
});

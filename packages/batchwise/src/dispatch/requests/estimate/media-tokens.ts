// Estimates the tokens of media in a body: images, audio and files, as base64, an address or an id.
// Their base64 is never counted as text. Providers document the figures for common models. Pure.

import { objectOf } from "../../format/json-object.ts";
import { imageSize } from "./image-size.ts";

/** OpenAI's tokens for an image in low detail. */
const TOKENS_IN_LOW_DETAIL = 85;
/** Anthropic's rule, width x height / 750; higher than OpenAI's count for most images. */
const PIXELS_A_TOKEN = 750;
/** About the maximum for an image that is scaled down. Also used for images of unknown size. */
const TOKENS_AN_IMAGE = 1_600;
/** OpenAI counts a tenth of a second as one token. */
const AUDIO_TOKENS_A_SECOND = 10;
/** mp3 at 128 kbit/s. */
const MP3_BYTES_A_SECOND = 16_000;
/** wav without a readable header: 24,000 samples of 16 bits. */
const WAV_BYTES_A_SECOND = 48_000;
/** Anthropic documents 1,500 to 3,000 per PDF page. */
const TOKENS_A_PAGE = 2_000;
/** A text page has fewer bytes, a scanned one more. */
const BYTES_A_PAGE = 50_000;
const BYTES_A_TOKEN = 4;

const DATA_URL = /^data:([^;,]*)[^,]*;base64,/;
const LONGEST_PREFIX = 200;
/** Bytes of a wav file up to and including its byte rate. */
const WAV_HEADER = 32;

interface Part {
  readonly [name: string]: unknown;
}

/** The tokens of one message part, or null if it is no image, audio or file. */
export function mediaTokens(part: Part): number | null {
  switch (part.type) {
    case "image_url":
      return ofImageAt(part.image_url);
    case "input_image":
      return ofImageAt(part.image_url, part.detail);
    case "input_audio":
      return ofAudio(objectOf(part.input_audio));
    case "file":
      return ofFile(objectOf(part.file).file_data);
    case "input_file":
      return ofFile(part.file_data);
    case "image":
      return ofSource(objectOf(part.source), ofImage);
    case "document":
      return ofSource(objectOf(part.source), ofDocument);
    default:
      return ofGeminiPart(part) ?? ofConverseBlock(part) ?? ofReference(part);
  }
}

/** The tokens of a field that is an image, or audio as a data URL; null for any other value. */
export function fieldTokens(value: unknown): number | null {
  if (typeof value !== "string") return ofReference(objectOf(value));
  const audio = parseDataUrl(value);
  return audio === null ? null : ofAudio({ data: audio.data, format: audio.type.replace("audio/", "") });
}

/** An image given only by its address, as image edits have it. */
function ofReference({ type, image_url: url }: Part): number | null {
  return type === undefined && typeof url === "string" ? ofImageAt(url) : null;
}

const TEXT_FORMATS: ReadonlySet<unknown> = new Set(["txt", "md", "html", "csv"]);

/** Blocks of Bedrock's Converse have no type: a medium with its format, as bytes or in S3. */
function ofConverseBlock({ image, document, audio, video }: Part): number | null {
  const medium = objectOf(image ?? document ?? audio ?? video);
  if (typeof medium.format !== "string") return null;
  const { bytes } = objectOf(medium.source);
  const base64 = typeof bytes === "string" ? bytes : "";
  if (image !== undefined) return ofImage(base64);
  if (audio !== undefined) return ofAudio({ data: base64, format: medium.format });
  return ofDocument(base64, TEXT_FORMATS.has(medium.format) ? "text/plain" : medium.format);
}

/** Gemini's parts have no type: inline data, or the address of a file. */
function ofGeminiPart({ inlineData, fileData }: Part): number | null {
  const { mimeType, data } = objectOf(inlineData ?? fileData);
  if (typeof mimeType !== "string") return fileData === undefined ? null : TOKENS_A_PAGE;
  const base64 = typeof data === "string" ? data : "";
  if (mimeType.startsWith("image/")) return ofImage(base64);
  if (mimeType.startsWith("audio/")) return ofAudio({ data: base64, format: mimeType.slice("audio/".length) });
  return ofDocument(base64, mimeType);
}

/** `{ url, detail }`, or only the address. */
function ofImageAt(image: unknown, detail: unknown = objectOf(image).detail): number {
  if (detail === "low") return TOKENS_IN_LOW_DETAIL;
  const url = typeof image === "string" ? image : objectOf(image).url;
  return ofImage(typeof url === "string" ? (parseDataUrl(url)?.data ?? "") : "");
}

function ofImage(base64: string): number {
  const size = base64 === "" ? null : imageSize(base64);
  if (size === null) return TOKENS_AN_IMAGE;
  const tokens = Math.ceil((size.width * size.height) / PIXELS_A_TOKEN);
  return Math.min(TOKENS_AN_IMAGE, Math.max(TOKENS_IN_LOW_DETAIL, tokens));
}

function ofAudio({ data, format }: Part): number {
  if (typeof data !== "string") return AUDIO_TOKENS_A_SECOND;
  const base64 = parseDataUrl(data)?.data ?? data;
  const bytesASecond = format === "wav" ? wavRate(base64) : MP3_BYTES_A_SECOND;
  return Math.ceil((bytesOf(base64) / bytesASecond) * AUDIO_TOKENS_A_SECOND);
}

function wavRate(base64: string): number {
  const header = Buffer.from(base64.slice(0, Math.ceil((WAV_HEADER * 4) / 3)), "base64");
  const isWav = header.length >= WAV_HEADER && header.toString("latin1", 0, 4) === "RIFF";
  return (isWav ? header.readUInt32LE(28) : 0) || WAV_BYTES_A_SECOND;
}

/** A file given only by id or address counts as one page. */
function ofFile(file: unknown): number {
  if (typeof file !== "string") return TOKENS_A_PAGE;
  const parsed = parseDataUrl(file);
  return parsed === null ? ofDocument(file, "") : ofDocument(parsed.data, parsed.type);
}

function ofDocument(base64: string, type: string): number {
  const bytes = bytesOf(base64);
  if (type.startsWith("text/") || type === "application/json") return Math.ceil(bytes / BYTES_A_TOKEN);
  return TOKENS_A_PAGE * Math.max(1, Math.ceil(bytes / BYTES_A_PAGE));
}

/** Anthropic's form: base64, an address, an id, or a text. A text gives null and counts as text. */
function ofSource(source: Part, of: (base64: string, type: string) => number): number | null {
  if (source.type === "base64" && typeof source.data === "string") return of(source.data, String(source.media_type));
  return source.type === "url" || source.type === "file" ? of("", "") : null;
}

function parseDataUrl(url: string): { readonly type: string; readonly data: string } | null {
  const match = DATA_URL.exec(url.slice(0, LONGEST_PREFIX));
  return match === null ? null : { type: match[1] ?? "", data: url.slice(match[0].length) };
}

function bytesOf(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}

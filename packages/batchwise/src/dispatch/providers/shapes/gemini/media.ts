// Converts images, audio and files of a chat message to parts of a Gemini content: data inline, an
// address as an address. Pure.

import type { JsonObject } from "../../../contract/types.ts";
import { readDataUrl } from "../openai/data-url.ts";
import { dropAbsent } from "../refusals.ts";
import { objectOf, text } from "../sdk/sdk-error.ts";
import { invalid, unsupported } from "./refusal.ts";

const ENDING = /\.([a-z0-9]+)(?:[?#]|$)/i;
/** Addresses of the Files API, which knows a file's type itself. */
const UPLOADED = /^https:\/\/generativelanguage\.googleapis\.com\/[^/]+\/files\/[^/]+$/;
const FILES_API = "https://generativelanguage.googleapis.com/v1beta/";
/**
 * Types that Gemini reads (ai.google.dev/gemini-api/docs/image-understanding and
 * document-processing), by file extension.
 */
const TYPES: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["webp", "image/webp"],
  ["heic", "image/heic"],
  ["heif", "image/heif"],
  ["pdf", "application/pdf"],
  ["txt", "text/plain"],
]);
const AUDIO: ReadonlyMap<unknown, string> = new Map([
  ["wav", "audio/wav"],
  ["mp3", "audio/mp3"],
]);

/** An image in base64, at https, in Cloud Storage, or in the Files API. */
export function imagePart(image: JsonObject, place: string): JsonObject {
  return dataPart(image.url) ?? addressPart(image.url, place, "an image");
}

export function audioPart(audio: JsonObject, place: string): JsonObject {
  const [type, data] = [AUDIO.get(audio.format), text(audio.data)];
  if (type === undefined || data === null) throw unsupported(`\`${place}\` other than wav or mp3 data`);
  return { inlineData: { mimeType: type, data } };
}

/** Omits the file's name, which the model does not read. */
export function filePart(file: JsonObject, place: string): JsonObject {
  const id = text(file.file_id);
  if (id === null) {
    const part = dataPart(file.file_data);
    if (part === null) throw unsupported(`\`${place}\`: a file other than base64 data with its type`);
    return part;
  }
  if (/^files\/[\w-]+$/.test(id)) return { fileData: { fileUri: `${FILES_API}${id}` } };
  if (!/^(?:https|gs):\/\//.test(id)) {
    throw invalid(
      `\`${place}.file_id\` must be "files/…" of Gemini's Files API or an address, not ${JSON.stringify(id)}`,
    );
  }
  return addressPart(id, place, "a file");
}

function dataPart(url: unknown): JsonObject | null {
  const read = readDataUrl(url);
  return read === null ? null : { inlineData: { mimeType: read.type, data: read.data } };
}

function addressPart(url: unknown, place: string, what: string): JsonObject {
  const address = text(url);
  if (address === null || !/^(?:https|gs):\/\//.test(address)) {
    throw unsupported(`\`${place}\`: ${what} other than base64 data or an address with https or gs`);
  }
  if (UPLOADED.test(address)) return { fileData: { fileUri: address } };
  const path = address.replace(/^[a-z]+:\/\/[^/]+/, "");
  const mimeType = TYPES.get((ENDING.exec(path)?.[1] ?? "").toLowerCase());
  if (mimeType === undefined) {
    throw invalid(`\`${place}\`: the address of ${what} must end in ${[...TYPES.keys()].join(", ")}, to tell its type`);
  }
  return { fileData: dropAbsent({ fileUri: address, mimeType }) };
}

/** An image's `detail`. Gemini has one resolution per request. */
export function detailOf(image: unknown): "low" | "high" | null {
  const { detail } = objectOf(image);
  return detail === "low" || detail === "high" ? detail : null;
}

// multipart/form-data, as far as uploads need it: fields and one or more files, in any order, whole in memory.

import { Refusal } from "./exchange.ts";

export interface Part {
  readonly name: string;
  /** null for a plain field. */
  readonly fileName: string | null;
  readonly content: Uint8Array;
}

const BREAK = Buffer.from("\r\n\r\n");

/** Reads all parts of a body. Refuses what is not well-formed. */
export function parseMultipart(body: Uint8Array, contentType: string): Part[] {
  const match = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (!/^multipart\/form-data/i.test(contentType) || boundary === undefined) {
    throw new Refusal(400, "invalid_request", "Expected a multipart/form-data body.");
  }
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: Part[] = [];
  let at = buffer.indexOf(delimiter);
  while (at >= 0) {
    const start = at + delimiter.length;
    if (buffer.subarray(start, start + 2).toString() === "--") return parts;
    const end = buffer.indexOf(Buffer.concat([Buffer.from("\r\n"), delimiter]), start);
    if (end < 0) break;
    parts.push(partOf(buffer.subarray(start + 2, end)));
    at = end + 2;
  }
  throw new Refusal(400, "invalid_request", "The multipart body ends before its last boundary.");
}

function partOf(bytes: Buffer): Part {
  const split = bytes.indexOf(BREAK);
  const head = bytes.subarray(0, Math.max(0, split)).toString();
  const name = /name="([^"]*)"/i.exec(head)?.[1];
  if (split < 0 || name === undefined) throw new Refusal(400, "invalid_request", "A part has no name.");
  const fileName = /filename="([^"]*)"/i.exec(head)?.[1] ?? null;
  return { name, fileName, content: bytes.subarray(split + BREAK.length) };
}

// Parses multipart/form-data for uploads: fields and files in any order, whole in memory. Also
// multipart/related, whose parts have no names.

import { Refusal } from "./exchange.ts";

export interface Part {
  readonly name: string;
  /** null for a plain field. */
  readonly fileName: string | null;
  readonly content: Uint8Array;
}

const BREAK = Buffer.from("\r\n\r\n");

/** All parts of a body. Refuses a malformed one. */
export function parseMultipart(body: Uint8Array, contentType: string): Part[] {
  const boundary = boundaryOf(contentType);
  if (!/^multipart\/form-data/i.test(contentType) || boundary === undefined) {
    throw new Refusal(400, "invalid_request", "Expected a multipart/form-data body.");
  }
  return piecesOf(body, boundary).map(partOf);
}

/** The contents of the parts of a multipart/related body, in order. */
export function relatedParts(body: Uint8Array, contentType: string): Uint8Array[] {
  const boundary = boundaryOf(contentType);
  if (!/^multipart\/related/i.test(contentType) || boundary === undefined) {
    throw new Refusal(400, "invalid", "Expected a multipart/related body.");
  }
  return piecesOf(body, boundary).map((piece) => {
    const split = piece.indexOf(BREAK);
    if (split < 0) throw new Refusal(400, "invalid", "A part has no head.");
    return piece.subarray(split + BREAK.length);
  });
}

function boundaryOf(contentType: string): string | undefined {
  const match = /boundary=(?:"([^"]+)"|'([^']+)'|([^;\s]+))/i.exec(contentType);
  return match?.[1] ?? match?.[2] ?? match?.[3];
}

/** Yields each part with its headers. */
function piecesOf(body: Uint8Array, boundary: string): Buffer[] {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const delimiter = Buffer.from(`--${boundary}`);
  const between = Buffer.concat([Buffer.from("\r\n"), delimiter]);
  const pieces: Buffer[] = [];
  let at = buffer.indexOf(delimiter);
  while (at >= 0) {
    const start = at + delimiter.length;
    if (buffer.subarray(start, start + 2).toString() === "--") return pieces;
    const end = buffer.indexOf(between, start);
    if (end < 0) break;
    pieces.push(buffer.subarray(start + 2, end));
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

// The checksums of S3 and Cloud Storage, in their text forms.

import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

/** CRC-32 as S3 writes it: base64 of four big-endian bytes. */
export function crc32Text(bytes: Uint8Array): string {
  return base64Of(crc32(bytes));
}

const known: WeakMap<Uint8Array, string> = new WeakMap();

/** CRC-32C as Cloud Storage writes it. Cached per array. */
export function crc32cText(bytes: Uint8Array): string {
  const text = known.get(bytes) ?? crc32cOf(bytes);
  known.set(bytes, text);
  return text;
}

function crc32cOf(bytes: Uint8Array): string {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] as number);
  return base64Of((crc ^ 0xffffffff) >>> 0);
}

export function md5Text(bytes: Uint8Array, encoding: "hex" | "base64"): string {
  return createHash("md5").update(bytes).digest(encoding);
}

/** The Castagnoli polynomial, its bits reversed. */
const POLYNOMIAL = 0x82f63b78;

const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = (value & 1) === 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value >>> 0;
});

function base64Of(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.toString("base64");
}

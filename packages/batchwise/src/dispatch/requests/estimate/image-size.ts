// Reads the width and height of a PNG, JPEG, GIF or WebP from the head of its file. Decodes only
// the head. Pure.

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Base64 characters read from the file; a multiple of four. Photos carry up to 64 KB before a
 * JPEG's frame.
 */
const HEAD_CHARACTERS = 100_000;
const JPEG = 0xff_d8;
/** JPEG frame markers, except the codes for tables and arithmetic coding in between. */
const FRAME_FROM = 0xc0;
const FRAME_TO = 0xcf;
const NO_FRAMES: readonly number[] = [0xc4, 0xc8, 0xcc];

/** Null for another format or a damaged head. */
export function imageSize(base64: string): ImageSize | null {
  const head = Buffer.from(base64.slice(0, HEAD_CHARACTERS), "base64");
  const size = head.length < 30 ? null : (png(head) ?? gif(head) ?? webp(head) ?? jpeg(head));
  return size === null || size.width === 0 || size.height === 0 ? null : size;
}

function png(head: Buffer): ImageSize | null {
  if (head.toString("latin1", 1, 4) !== "PNG") return null;
  return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
}

function gif(head: Buffer): ImageSize | null {
  if (head.toString("latin1", 0, 4) !== "GIF8") return null;
  return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
}

function webp(head: Buffer): ImageSize | null {
  if (head.toString("latin1", 0, 4) !== "RIFF" || head.toString("latin1", 8, 12) !== "WEBP") return null;
  switch (head.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { width: head.readUInt16LE(26) & 0x3f_ff, height: head.readUInt16LE(28) & 0x3f_ff };
    case "VP8L": {
      const bits = head.readUInt32LE(21);
      return { width: (bits & 0x3f_ff) + 1, height: ((bits >> 14) & 0x3f_ff) + 1 };
    }
    case "VP8X":
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
}

/** Skips segments up to the frame, which has the size. */
function jpeg(head: Buffer): ImageSize | null {
  if (head.readUInt16BE(0) !== JPEG) return null;
  for (let at = 2; at + 9 <= head.length; ) {
    if (head[at] !== 0xff) return null;
    const marker = head[at + 1] as number;
    if (marker >= FRAME_FROM && marker <= FRAME_TO && !NO_FRAMES.includes(marker)) {
      return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    }
    // Fill bytes may precede a marker.
    at += marker === 0xff ? 1 : 2 + head.readUInt16BE(at + 2);
  }
  return null;
}

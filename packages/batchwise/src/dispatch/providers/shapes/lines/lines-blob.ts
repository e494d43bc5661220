// The lines of a batch as a Blob, for clients that need one. They read it into memory or slice it
// at once, so it cannot be streamed: it is held once, as bytes.

import type { BatchInput } from "../../../contract/account.ts";
import { chunksOf } from "./line-chunks.ts";

/** Characters per part of the Blob. */
const CHUNK_CHARS = 1_000_000;

export async function blobOf(input: BatchInput): Promise<Blob> {
  const parts: Blob[] = [];
  for await (const chunk of chunksOf(input.lines(), CHUNK_CHARS)) parts.push(new Blob([chunk]));
  return new Blob(parts);
}

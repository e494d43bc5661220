// The lines of a batch for clients that upload a Blob. They read it into memory, or ask for slices
// of it before anything of it could be made, so it cannot be made while it is read: it is held
// once, as bytes.

import type { BatchInput } from "../../contract/account.ts";
import { chunksOf } from "./line-chunks.ts";

/** A part of the Blob for every so many characters. */
const CHUNK_CHARS = 1_000_000;

export async function blobOf(input: BatchInput): Promise<Blob> {
  const parts: Blob[] = [];
  for await (const chunk of chunksOf(input.lines(), CHUNK_CHARS)) parts.push(new Blob([chunk]));
  return new Blob(parts);
}

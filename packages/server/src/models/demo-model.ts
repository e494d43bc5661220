/**
 * Writes the folder of a small text model in the layout of exports from Hugging Face: `model.onnx`
 * and `tokenizer.json`. For trying programs that run models where no model can be downloaded.
 *
 * Guarantees: the same bytes on every machine. An existing file with other content is not changed.
 * Does not understand language: the weights are random and untrained. Texts with common words get
 * similar vectors.
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buildEncoder, DEFAULT_ENCODER } from "./encoder-model.ts";
import { pairTokenizer } from "./pair-tokenizer.ts";

/** A file of the folder exists with other content. Nothing was written. */
export class ForeignFileError extends Error {}

export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Writes the files into `folder`, which is created if it does not exist. Rejects with
 * ForeignFileError.
 */
export async function writeDemoModel(folder: string): Promise<readonly WrittenFile[]> {
  const { definition, vocabularySize } = pairTokenizer();
  const files = [
    { path: join(folder, "model.onnx"), content: buildEncoder({ ...DEFAULT_ENCODER, vocabulary: vocabularySize }) },
    { path: join(folder, "tokenizer.json"), content: Buffer.from(`${JSON.stringify(definition)}\n`) },
  ];
  await mkdir(folder, { recursive: true });
  for (const { path, content } of files) {
    const there = await contentOf(path);
    if (there === null || there.equals(content)) continue;
    throw new ForeignFileError(`${path} is there already, with other content; name another folder`);
  }
  for (const { path, content } of files) await writeFile(path, content);
  return files.map(({ path, content }) => ({ path, bytes: content.length }));
}

/** Null if there is no file. */
async function contentOf(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/**
 * Keeps the generated model file in a folder, so that it is written at the first start and only
 * read later.
 *
 * Guarantees: the file's name contains its format version, its config and the checksum of its
 * content. A damaged or half-written file is never used. Several processes may start at once. Does
 * not delete files of other versions or configs.
 */

import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { buildEncoder, type EncoderConfig } from "./encoder-model.ts";

/** Raise it whenever `buildEncoder` gives other bytes for the same config. */
const FORMAT_VERSION = 1;

export interface CachedModel {
  readonly path: string;
  /** First 16 hexadecimal digits of the content's SHA-256. */
  readonly checksum: string;
  /** True if this call wrote the file. */
  readonly written: boolean;
}

/** The folder of generated models, unless the user sets one. */
export function defaultModelDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const base = env.XDG_CACHE_HOME || env.LOCALAPPDATA || join(home(), ".cache");
  return join(base, "batchwise");
}

/** Throws if there is none: an empty one would be the working folder. */
function home(): string {
  const folder = homedir();
  if (folder === "") throw new Error("HOME is empty, so there is no cache folder");
  return folder;
}

/** Finds the model of this config in `directory`, or writes it there. */
export async function cachedEncoder(directory: string, config: EncoderConfig): Promise<CachedModel> {
  await mkdir(directory, { recursive: true });
  const prefix = `encoder-v${FORMAT_VERSION}-${digest(JSON.stringify(config)).slice(0, 8)}-`;
  for (const name of await readdir(directory)) {
    if (!name.startsWith(prefix) || !name.endsWith(".onnx")) continue;
    const checksum = name.slice(prefix.length, -".onnx".length);
    const path = join(directory, name);
    if (digest(await readFile(path)) === checksum) return { path, checksum, written: false };
  }
  const bytes = buildEncoder(config);
  const checksum = digest(bytes);
  const path = join(directory, `${prefix}${checksum}.onnx`);
  await writeAtomically(path, bytes);
  return { path, checksum, written: true };
}

/** A reader sees the old file, no file, or the whole new file. */
async function writeAtomically(path: string, bytes: Uint8Array): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, bytes);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function digest(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 16);
}

/** Reading JSON files that may be absent, and looking into values of unknown shape. */

import { readFile } from "node:fs/promises";

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object in a JSON file; undefined when there is no such file. A file with anything else in it throws. */
export async function readJsonIfPresent(path: string): Promise<Record<string, unknown> | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new Error(`Expected ${path} to hold a JSON object`);
  return value;
}

/** Reads JSON files that may be absent, and looks into values of unknown shape. */

import { readFile } from "node:fs/promises";

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value in a JSON file; undefined if there is no such file. Throws if the file is not JSON. */
export async function readJson(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`Expected ${path} to hold JSON`, { cause: error });
  }
}

/**
 * The object in a JSON file; undefined if there is no such file. Throws if the file is anything but
 * a JSON object.
 */
export async function readJsonIfPresent(path: string): Promise<Record<string, unknown> | undefined> {
  const value = await readJson(path);
  if (value === undefined) return undefined;
  if (!isRecord(value)) throw new Error(`Expected ${path} to hold a JSON object`);
  return value;
}

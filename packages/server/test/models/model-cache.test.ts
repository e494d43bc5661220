import { readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { buildEncoder, DEFAULT_ENCODER } from "../../src/models/encoder-model.ts";
import { cachedEncoder, defaultModelDirectory } from "../../src/models/model-cache.ts";
import { temporaryFolder } from "../support/folders.ts";

const CONFIG = { ...DEFAULT_ENCODER, layers: 1, hidden: 16, feedForward: 16, vocabulary: 32 };

describe("the folder of generated models", () => {
  test("is filled on the first start and only read on the next", async () => {
    const folder = join(await temporaryFolder(), "made", "on", "demand");
    const first = await cachedEncoder(folder, CONFIG);
    const { mtimeMs } = await stat(first.path);
    const second = await cachedEncoder(folder, CONFIG);
    expect([first.written, second.written]).toEqual([true, false]);
    expect(second.path).toBe(first.path);
    expect((await stat(second.path)).mtimeMs).toBe(mtimeMs);
    expect(Buffer.compare(await readFile(first.path), buildEncoder(CONFIG))).toBe(0);
    expect(first.path).toContain(first.checksum);
  });

  test("keeps models of different configs apart", async () => {
    const folder = await temporaryFolder();
    const one = await cachedEncoder(folder, CONFIG);
    const other = await cachedEncoder(folder, { ...CONFIG, seed: 2 });
    expect(other.path).not.toBe(one.path);
    expect((await cachedEncoder(folder, CONFIG)).written).toBe(false);
  });

  test("replaces a damaged file", async () => {
    const folder = await temporaryFolder();
    const { path } = await cachedEncoder(folder, CONFIG);
    await truncate(path, 100);
    const again = await cachedEncoder(folder, CONFIG);
    expect(again.written).toBe(true);
    expect(Buffer.compare(await readFile(again.path), buildEncoder(CONFIG))).toBe(0);
  });

  test("is left with one whole file when several start at once", async () => {
    const folder = await temporaryFolder();
    const all = await Promise.all(Array.from({ length: 8 }, () => cachedEncoder(folder, CONFIG)));
    expect(new Set(all.map((model) => model.path)).size).toBe(1);
    expect(await readdir(folder)).toHaveLength(1);
  });

  test("that cannot be made is an error that says so", async () => {
    const file = join(await temporaryFolder(), "file");
    await writeFile(file, "");
    await expect(cachedEncoder(join(file, "folder"), CONFIG)).rejects.toThrow(/ENOTDIR/);
    await rm(file);
  });

  test("lies in the user's cache folder", () => {
    expect(defaultModelDirectory({ XDG_CACHE_HOME: "/caches" })).toBe(join("/caches", "batchwise"));
    expect(defaultModelDirectory({})).toMatch(/\.cache.batchwise$/);
  });
});

import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { measureInstalled } from "./installed.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/bench-installed-`);
});

afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text = "x".repeat(5_000)): void {
  mkdirSync(dirname(`${folder}/${path}`), { recursive: true });
  writeFileSync(`${folder}/${path}`, text);
}

describe("an installed folder", () => {
  test("counts the packages of npm's own lock, and the files of the root and of each package", () => {
    const packages = { "packages/a": {}, "node_modules/a": { link: true }, "node_modules/b": {} };
    const lock = { packages: { ...packages, "packages/a/node_modules/b": {} } };
    write("node_modules/.package-lock.json", JSON.stringify(lock));
    write("node_modules/b/deep/file.js");
    write("node_modules/.cache/file.js");
    write("packages/a/node_modules/b/file.js");
    linkSync(`${folder}/node_modules/b/deep/file.js`, `${folder}/node_modules/b/same.js`);
    symlinkSync(`${folder}/packages/a`, `${folder}/node_modules/a`);
    const { packages: count, files, bytes } = measureInstalled(folder);
    expect({ count, files }).toEqual({ count: 3, files: 2 });
    expect(bytes).toBeGreaterThanOrEqual(2 * 5_000);
  });

  test("has no figures where npm installed nothing", () => {
    expect(measureInstalled(folder)).toEqual({ packages: Number.NaN, files: Number.NaN, bytes: Number.NaN });
  });
});

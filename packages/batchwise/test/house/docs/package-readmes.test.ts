// What the READMEs in the packages say, which npm shows: of the providers, of pages, of how to
// install.

import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findEntries } from "../../../../../scripts/library/entries.ts";
import { manifestOf, root, textOf } from "../repository.ts";

const providers = findEntries()
  .filter(({ file }) => file.startsWith("dispatch/providers/"))
  .map(({ name }) => name.replace("./dispatch/", ""));
const stores = ["sqlite", "postgres", "redis"];

describe.each(["packages/batchwise", "packages/server"])("the README of %s", (folder) => {
  const text = textOf(`${folder}/README.md`);

  test("names every provider", () => {
    expect(providers.length).toBeGreaterThan(5);
    expect(providers.filter((name) => !text.includes(`${name}\``))).toEqual([]);
  });

  test("sends readers to pages that there are, and to a homepage only where package.json has one", () => {
    const pages = [...text.matchAll(/`(docs(?:\/[\w-]+\.md)?)`/g)].map(([, path]) => path as string);
    expect(pages.length).toBeGreaterThan(0);
    expect(pages.filter((path) => !existsSync(root + path))).toEqual([]);
    if (!("homepage" in manifestOf(folder))) expect(text).not.toMatch(/homepage/i);
  });

  test("says how to install it while it is not in the registry", () => {
    expect(text).toContain("Until it is in the npm registry");
    expect(text).toMatch(/npm install \.\.\/clone\/batchwise-\*\.tgz/);
  });
});

test("the library's README names every store", () => {
  const text = textOf("packages/batchwise/README.md");
  expect(stores.filter((name) => !text.includes(`/${name}\``))).toEqual([]);
});

// The packages of users that the library works with. Only what the built files import is a peer
// dependency, and every version of it may be installed: npm enforces the ranges of optional peers
// too, for users of the engine alone. The versions that work are in the docs; each major of them is
// installed for the tests, at the root or in compat.

import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import { describe, expect, test } from "vitest";
import { importsOf } from "../code/layers.ts";
import { built, filesMatching, manifestOf, textOf } from "../repository.ts";

/** The rows of docs/deployment.md: "`openai` | 5, 6 |" as its name and majors. */
const documented = [...textOf("docs/deployment.md").matchAll(/^\| `([^`]+)` \| ([\d., ]+?)( or later)? \|/gm)].map(
  ([, name = "", versions = ""]): [string, number[]] => [
    name,
    versions.split(", ").map(Number.parseFloat).map(Math.trunc),
  ],
);

/**
 * The versions of a package that the tests import, under its own name or another
 * ("npm:openai@5.23.2"): name to import, and major.
 */
function installed(peer: string): { readonly name: string; readonly major: number }[] {
  const all = [".", "compat/versions", "compat/models"].map((folder) => manifestOf(folder).devDependencies ?? {});
  return all.flatMap(Object.entries<string>).flatMap(([name, spec]) => {
    const [, of = name, major] = /^(?:npm:(.+)@)?[~^]?(\d+)\./.exec(spec) ?? [];
    return of === peer ? [{ name, major: Number(major) }] : [];
  });
}

function packagesImportedBy(file: string): string[] {
  return importsOf(file, readFileSync(file, "utf8")).filter((name) => !/^(\.|node:)/.test(name));
}

describe("the peer dependencies", () => {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = manifestOf("packages/batchwise");
  const peers = Object.keys(peerDependencies);

  test("are the packages that the built files import", () => {
    const files = globSync(["**/*.js", "**/*.d.cts"], { cwd: dirname(built("index.js")) }).map(built);
    expect(files.length).toBeGreaterThan(20);
    expect([...new Set(files.flatMap(packagesImportedBy))].sort()).toEqual(peers);
  });

  test("are optional", () => {
    expect(peerDependenciesMeta).toEqual(Object.fromEntries(peers.map((peer) => [peer, { optional: true }])));
  });

  test("have versions in the docs", () => {
    expect(documented.map(([name]) => name)).toEqual(expect.arrayContaining(peers));
  });

  test.each(["batchwise", "server"])("of %s take every version", (name) => {
    const ranges = Object.values(manifestOf(`packages/${name}`).peerDependencies ?? {});
    expect(new Set(ranges)).toEqual(new Set(["*"]));
  });
});

describe("a package of the docs", () => {
  const tests = filesMatching("packages/batchwise/test/**/*.ts", "compat/*/test/**/*.ts").map(textOf);

  test.each(documented)("%s is installed for the tests in the versions %j, and imported by one", (name, majors) => {
    const imported = installed(name).filter((copy) =>
      tests.some((text) => text.includes(`from "${copy.name}"`) || text.includes(`import("${copy.name}")`)),
    );
    expect(imported.map(({ major }) => major)).toEqual(expect.arrayContaining(majors));
  });
});

describe("the oldest client that an account takes", () => {
  const methods = { create() {}, retrieve() {}, list() {}, cancel() {}, results() {}, content() {}, delete() {} };
  const named = (major: number) => ({
    ...{ files: methods, batches: methods, messages: { batches: methods } },
    getUserAgent: () => `Client/JS ${major}.0.0`,
  });

  test.each([
    ["openai", (major: number) => openaiAccount({ client: named(major) as never })],
    ["@anthropic-ai/sdk", (major: number) => anthropicAccount({ client: named(major) as never })],
  ])("of %s is the first of its documented versions", (name, make) => {
    const [least = Number.NaN] = new Map(documented).get(name) ?? [];
    expect(() => make(least)).not.toThrow();
    expect(() => make(least - 1)).toThrow(`${name} ${least} or later`);
  });
});

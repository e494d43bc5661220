// The optional peer dependencies: they name the clients that users bring, by major version. Each of these majors is
// installed for the tests, and the oldest one that an account takes is the first of its range.

import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import { describe, expect, test } from "vitest";
import { filesMatching, manifestOf, textOf } from "./repository.ts";

const { peerDependencies = {}, peerDependenciesMeta = {} } = manifestOf("packages/batchwise");
const peers = Object.entries(peerDependencies);

/** "^5.0.0 || ^6.1.0" as [5, 6]. */
const majorsOf = (range: string): number[] =>
  range.split(" || ").map((part) => Number(/^\^(\d+)\.\d+\.0$/.exec(part)?.[1]));

/** What the tests have of a package, under its own name or another ("npm:openai@5.23.2"): name to import, and major. */
function installed(peer: string): { readonly name: string; readonly major: number }[] {
  return Object.entries(manifestOf(".").devDependencies ?? {}).flatMap(([name, spec]) => {
    const [, of = name, major] = /^(?:npm:(.+)@)?[~^]?(\d+)\./.exec(spec) ?? [];
    return of === peer ? [{ name, major: Number(major) }] : [];
  });
}

describe.each(peers)("the client %s %s", (peer, range) => {
  test("is optional", () => {
    expect(peerDependenciesMeta[peer]).toEqual({ optional: true });
  });

  test("is installed for the tests in every major, and imported by one", () => {
    const tests = filesMatching("packages/batchwise/test/**/*.ts").map(textOf);
    const imported = installed(peer).filter(({ name }) =>
      tests.some((text) => text.includes(`from "${name}"`) || text.includes(`import("${name}")`)),
    );
    expect(imported.map(({ major }) => major)).toEqual(expect.arrayContaining(majorsOf(range)));
  });
});

test("nothing is declared optional that is no peer", () => {
  expect(Object.keys(peerDependenciesMeta).sort()).toEqual(Object.keys(peerDependencies).sort());
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
  ])("of %s is the first of its declared range", (peer, make) => {
    const [least = Number.NaN] = majorsOf(peerDependencies[peer] ?? "");
    expect(() => make(least)).not.toThrow();
    expect(() => make(least - 1)).toThrow(`${peer} ${least} or later`);
  });
});

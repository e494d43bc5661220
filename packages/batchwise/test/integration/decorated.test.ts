import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { built, root, scratchFolder } from "../house/repository.ts";

// Neither Node.js nor vitest reads standard decorators yet: the fixture goes through the compilers
// that users have.
const fixtures = `${root}packages/batchwise/test/integration/fixtures`;
const folder = scratchFolder("decorated");

function compileByTypeScript(): string {
  const config = {
    extends: `${root}tsconfig.base.json`,
    compilerOptions: {
      rootDir: fixtures,
      outDir: folder,
      declaration: false,
      declarationMap: false,
      isolatedDeclarations: false,
    },
    files: [`${fixtures}/decorated.ts`],
  };
  writeFileSync(`${folder}tsconfig.json`, JSON.stringify(config));
  execFileSync(`${root}node_modules/.bin/tsc`, ["-p", folder], { stdio: "inherit" });
  return `${folder}decorated.js`;
}

async function compileByEsbuild(): Promise<string> {
  const outfile = `${folder}by-esbuild.js`;
  await build({ entryPoints: [`${fixtures}/decorated.ts`], outfile, target: "es2022", format: "esm" });
  return outfile;
}

afterAll(() => rmSync(folder, { recursive: true }));

describe.each([
  ["TypeScript", compileByTypeScript],
  ["esbuild", compileByEsbuild],
] as const)("a class with batched methods that %s compiled", (_, compile) => {
  let seen: Record<string, unknown> = {};

  beforeAll(async () => {
    built("index.js");
    writeFileSync(`${folder}package.json`, `{ "type": "module" }`);
    const file = await compile();
    seen = JSON.parse(execFileSync(process.execPath, ["--expose-gc", file], { encoding: "utf8" }));
  });

  test("merges the calls of all callers, and gives each call its own part", () => {
    expect(seen.merged).toEqual([["a!", "b!"], ["c!"], [], ["d?"]]);
    expect(seen.callsOfOne).toEqual([["a", "b", "c"]]);
  });

  test("shares nothing between two instances", () => {
    expect(seen.callsOfTwo).toEqual([["d"]]);
  });

  test("cuts a call that is larger than a batch, and puts its results together again", () => {
    expect(seen.split).toEqual(["1!", "2!", "3!", "4!", "5!"]);
    expect(seen.splitCalls).toEqual([["1", "2", "3", "4"], ["5"]]);
  });

  test("runs its methods in the async context in which the instance was made, with the batch's context", () => {
    expect(seen.context).toEqual(["construction idle 0"]);
  });

  test("rejects the call whose item failed, and no other", () => {
    expect(seen.picky).toEqual([[1, 2], "negative: -3"]);
  });

  test("rejects all calls of a batch that failed as a whole, with the method's own error", () => {
    expect(seen.broken).toEqual(["broken for 3", "broken for 3"]);
  });

  test("batches static methods for the class", () => {
    expect(seen.double).toEqual([[2], [4, 6]]);
    expect(seen.doubleCalls).toEqual([[1, 2, 3]]);
  });

  test("batches private methods", () => {
    expect(seen.hidden).toEqual([[12], [22]]);
    expect(seen.hiddenCounts).toEqual([2, [3], [6], 1]);
  });

  test("works under a subclass that overrides the method and calls it", () => {
    expect(seen.inherited).toEqual([["X."], ["Y."]]);
  });

  test("refuses invalid submit options, a stranger for `this`, and items that are no array", () => {
    expect(seen.extra).toBe("`encode` takes `items` and submit options, got 3 arguments");
    expect(seen.noOptions).toBe("Expected `options` to be an object, got `normalize` (string)");
    expect(seen.stranger).toBe("`encode` was called on an object it does not belong to");
    expect(seen.noArray).toContain("Expected `items` to be an array, got ");
  });

  test("lets the batcher of an instance go with the instance", () => {
    expect(seen.released).toBe(true);
  });

  test("keeps the name of the method", () => {
    expect(seen.name).toBe("encode");
  });
});

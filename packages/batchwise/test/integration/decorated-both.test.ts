import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { built, root, scratchFolder } from "../house/repository.ts";

// What holds for standard and for legacy decorators, in a program as users compile it.
const fixtures = `${root}packages/batchwise/test/integration/fixtures`;
const folder = scratchFolder("decorated-both");

interface DecoratorSettings {
  readonly experimentalDecorators: boolean;
  readonly emitDecoratorMetadata: boolean;
}

function compileByTypeScript(settings: DecoratorSettings): string {
  const outDir = `${folder}${settings.experimentalDecorators}`;
  const config = {
    extends: `${root}tsconfig.base.json`,
    compilerOptions: {
      rootDir: fixtures,
      outDir,
      declaration: false,
      declarationMap: false,
      isolatedDeclarations: false,
      ...settings,
    },
    files: [`${fixtures}/decorated-both.ts`],
  };
  const file = `${folder}tsconfig-${settings.experimentalDecorators}.json`;
  writeFileSync(file, JSON.stringify(config));
  execFileSync(`${root}node_modules/.bin/tsc`, ["-p", file], { stdio: "inherit" });
  return `${outDir}/decorated-both.js`;
}

async function compileByEsbuild(settings: DecoratorSettings): Promise<string> {
  const outfile = `${folder}by-esbuild-${settings.experimentalDecorators}.js`;
  const entryPoints = [`${fixtures}/decorated-both.ts`];
  await build({ entryPoints, outfile, target: "es2022", format: "esm", tsconfigRaw: { compilerOptions: settings } });
  return outfile;
}

const standard: DecoratorSettings = { experimentalDecorators: false, emitDecoratorMetadata: false };
const legacy: DecoratorSettings = { experimentalDecorators: true, emitDecoratorMetadata: true };

afterAll(() => rmSync(folder, { recursive: true }));

describe.each([
  ["standard", "TypeScript", compileByTypeScript, standard],
  ["legacy", "TypeScript", compileByTypeScript, legacy],
  ["standard", "esbuild", compileByEsbuild, standard],
  ["legacy", "esbuild", compileByEsbuild, legacy],
] as const)("a class with %s decorators that %s compiled", (form, _, compile, settings) => {
  let seen: Record<string, unknown> = {};

  beforeAll(async () => {
    built("index.js");
    writeFileSync(`${folder}package.json`, `{ "type": "module" }`);
    const file = await compile(settings);
    seen = JSON.parse(execFileSync(process.execPath, ["--expose-gc", file], { encoding: "utf8" }));
  });

  test("merges calls, each with its own submit options, and gives the method the batch's context", () => {
    expect(seen.encode).toEqual([["a idle 0", "ab idle 0"], ["ac idle 3"]]);
    expect(seen.keyed).toEqual(["b idle 0"]);
    expect(seen.guarded).toEqual([[["u"], ["v"]], 2]);
  });

  test("merges the calls of the bare form, through a proxy and an object that inherits too", () => {
    expect(seen.bare).toEqual([[1], [2], [1]]);
    expect(seen.calls).toEqual([["ac", "a", "ab"], ["b"], ["x", "yy", "z"]]);
  });

  test("batches static methods, for a subclass apart", () => {
    const results = [["aa"], ["bb"], ["cc"], ["dd"]];
    expect(seen.double).toEqual([results, [["a", "c"]], [["b", "d"]]]);
  });

  test("has setters, statistics and a close for each method and each instance", () => {
    expect(seen.batches).toBe(2);
    expect(seen.limits).toEqual([1, 4]);
    expect(seen.closed).toBe("CLOSED");
  });

  test("runs its methods in one async context: that of the construction, or of the first call", () => {
    const context = form === "standard" ? "construction" : "first caller";
    expect([seen.where, seen.whereLater]).toEqual([[`${context} 1`], [`${context} 2`, `${context} 2`]]);
  });

  test("lets the batcher of an instance go with the instance", () => {
    expect(seen.released).toBe(true);
  });
});

import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { built, root, scratchFolder } from "../house/repository.ts";

// The fixtures beside this file are compiled as a user's program is: against the declarations that
// were built.
const here = `${root}packages/batchwise/test/types`;

const strict = {
  target: "es2022",
  lib: ["es2023", "esnext.disposable", "esnext.decorators"],
  module: "nodenext",
  types: ["node"],
  typeRoots: [`${root}node_modules/@types`],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  noEmit: true,
  allowImportingTsExtensions: true,
};

/** What the compiler says of fixtures. */
function messagesOf(fixtures: readonly string[], options: object): string {
  built("index.d.ts");
  const folder = scratchFolder("types");
  const config = { compilerOptions: { ...strict, ...options }, files: fixtures.map((file) => `${here}/${file}`) };
  writeFileSync(`${folder}tsconfig.json`, JSON.stringify(config));
  const { stdout, stderr } = spawnSync(`${root}node_modules/.bin/tsc`, ["-p", folder], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  return stdout + stderr;
}

test("the built declarations infer, accept and refuse as the fixtures say, in a strict program", () => {
  expect(messagesOf(["handlers.ts", "mistakes.ts", "decorated.ts", "decorated-both.ts", "threads.ts"], {})).toBe("");
});

test("the built declarations decorate methods in a program with legacy decorators too", () => {
  const options = { experimentalDecorators: true, emitDecoratorMetadata: true };
  expect(messagesOf(["decorated-both.ts"], options)).toBe("");
});

test("the built declarations decorate methods in a program that is not strict too", () => {
  const options = { strict: false, exactOptionalPropertyTypes: false, noUncheckedIndexedAccess: false };
  expect(messagesOf(["decorated.ts"], options)).toBe("");
  expect(messagesOf(["decorated.ts"], { ...options, strictNullChecks: true })).toBe("");
});

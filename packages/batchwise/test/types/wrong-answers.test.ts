import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { built, root, scratchFolder } from "../house/repository.ts";

/** Handlers that return no array of results, one a line. */
const program = `import { batch, createBatcher, createTokenBatcher } from "batchwise";
export const count = batch(async (items: string[]) => items.length);
export const named = createBatcher((items: string[]) => new Map(items.map((item) => [item, 1])));
export const wrapped = createTokenBatcher(async (items: string[]) => ({ data: items }));
export const nothing = batch(async (items: string[]) => { items.sort(); });
export const text = batch((items: string[]) => items.join());
`;

test("the compiler names the result that a handler has to return, in at most 7 lines", () => {
  built("index.d.ts");
  const folder = scratchFolder("wrong-answers");
  const compilerOptions = { target: "es2022", module: "nodenext", strict: true, noEmit: true, types: [] };
  writeFileSync(`${folder}program.ts`, program);
  writeFileSync(`${folder}tsconfig.json`, JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const { stdout } = spawnSync(`${root}node_modules/.bin/tsc`, ["-p", folder], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  const said = stdout
    .trimEnd()
    .split(/^(?=\S)/m)
    .map((message) => message.trimEnd().split("\n"));
  expect(said.map(([first = ""]) => first.replace(/^.*program\.ts\((\d+),.*$/, "$1"))).toEqual([..."23456"]);
  for (const lines of said) {
    expect(lines.length).toBeLessThanOrEqual(7);
    expect(lines.at(-1)).toContain("ArrayWithOneResultPerItem");
  }
});

import { describe, expect, test } from "vitest";
import { root } from "../../../packages/batchwise/test/house/repository.ts";
import { Project, specifiers } from "../../../packages/batchwise/test/tools/project.ts";

/** The entries whose declarations name nothing of Node.js. */
const portable = specifiers.filter((name) => !/^batchwise\/(onnx|threads)$/.test(name));

/**
 * Every entry resolves to declarations, and not to `any`; types of the main entry go through
 * inference.
 */
const source = (names: readonly string[]): string => `
  type IsAny<T> = 0 extends 1 & T ? true : false;
  ${names.map((name, index) => `import * as entry${index} from "${name}";`).join("\n")}
  ${names.map((_, index) => `export const known${index}: IsAny<typeof entry${index}> = false;`).join("\n")}
  import { batch, BatchwiseError, DONE, batchStream, type BatchContext, type SubmitOptions } from "batchwise";
  import type { Outcome } from "batchwise/dispatch";

  const double = batch((items: number[], context: BatchContext) => items.map((item) => item * context.cost));
  export const doubled: Promise<number> = double(1, { priority: 1 } satisfies SubmitOptions);
  // @ts-expect-error: the handler takes numbers.
  double("1");
  // @ts-expect-error: the result is a number.
  export const wrong: Promise<string> = double(1);
  export const count = batchStream(async function* (items: number[]) { yield items.map(() => DONE); });
  export const codeOf = (error: unknown): string => (error instanceof BatchwiseError ? error.code : "");
  export const textOf = (outcome: Outcome): number | undefined => outcome.response?.statusCode;
`;

/** Checks the declarations of the packages, and not those of the language itself. */
const common = { noEmit: true, strict: true, target: "es2022", skipLibCheck: false, skipDefaultLibCheck: true };
const modes = {
  node10: { module: "commonjs", moduleResolution: "node10" },
  "node16, required": { module: "node16", moduleResolution: "node16" },
  "node16, imported": { module: "node16", moduleResolution: "node16", file: "main.mts" },
  nodenext: { module: "nodenext", moduleResolution: "nodenext" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
};

/** Compiles a project's only file with lib checks, and gives what the compiler says. */
function compile(compiler: string, mode: Mode, text: string, options: object): object {
  const { file = "main.ts", ...ofMode } = { file: undefined, ...modes[mode] };
  const config = { compilerOptions: { ...common, ...ofMode, ...options }, files: [file] };
  const home = compiler === "typescript" ? root : `${root}compat/versions/`;
  return new Project("typescript", { [file]: text, "tsconfig.json": config }, home).run(`${compiler}/bin/tsc`, [
    "-p",
    ".",
  ]);
}

const clean = { status: 0, output: "" };

const all = ["node10", "node16, required", "node16, imported", "nodenext", "bundler"] as const;
type Mode = (typeof all)[number];

/**
 * `names`: the ways to resolve. Version 7 has no `node10`; the oldest version resolves as 5.9 does.
 */
describe.each<{ compiler: string; names: readonly Mode[] }>([
  { compiler: "typescript-5-6", names: ["node16, imported", "bundler"] },
  { compiler: "typescript-5", names: all },
  { compiler: "typescript", names: all.slice(1) },
])("$compiler", ({ compiler, names }) => {
  const inNode = names.filter((name) => name !== "nodenext");
  const inBrowsers = names.filter((name) => !name.startsWith("node16"));

  test.each(inNode)("finds the types of every entry with moduleResolution %s, in Node.js", (name) => {
    expect(compile(compiler, name, source(specifiers), { lib: ["es2022"], types: ["node"] })).toEqual(clean);
  });

  test.each(inBrowsers)("finds those of entries for any runtime with moduleResolution %s, in browsers", (name) => {
    expect(compile(compiler, name, source(portable), { lib: ["es2022", "dom"], types: [] })).toEqual(clean);
  });
});

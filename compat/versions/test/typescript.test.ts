import { describe, expect, test } from "vitest";
import { runsAllCases } from "../../../packages/batchwise/test/dispatch/support/breadth.ts";
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
/** `files`: the program, each with the same text. Where it is compiled as both, one is required. */
const modes = {
  node10: { module: "commonjs", moduleResolution: "node10", files: ["main.ts"] },
  node16: { module: "node16", moduleResolution: "node16", files: ["main.ts", "main.mts"] },
  nodenext: { module: "nodenext", moduleResolution: "nodenext", files: ["main.ts"] },
  bundler: { module: "esnext", moduleResolution: "bundler", files: ["main.ts"] },
};
type Mode = keyof typeof modes;

/** Compiles a project with lib checks, and gives what the compiler says. */
function compile(compiler: string, mode: Mode, text: string, options: object): object {
  const { files, ...ofMode } = modes[mode];
  const config = { compilerOptions: { ...common, ...ofMode, ...options }, files };
  const home = compiler === "typescript" ? root : `${root}compat/versions/`;
  const sources = Object.fromEntries(files.map((file) => [file, text]));
  const project = new Project("typescript", { ...sources, "tsconfig.json": config }, home);
  return project.run(`${compiler}/bin/tsc`, ["-p", "."]);
}

const clean = { status: 0, output: "" };

/**
 * Version 7 has no `node10`; the oldest version resolves as 5.9 does. Browsers do not have
 * `batchwise/onnx` and `batchwise/threads`, so one compiler checks the way of bundlers in Node.js,
 * too; `npm run prove` checks more.
 */
describe.each<{ compiler: string; inNode: readonly Mode[]; inBrowsers: readonly Mode[] }>(
  runsAllCases
    ? [
        { compiler: "typescript-5-6", inNode: ["node16", "bundler"], inBrowsers: ["bundler"] },
        {
          compiler: "typescript-5",
          inNode: ["node10", "node16", "bundler"],
          inBrowsers: ["node10", "nodenext", "bundler"],
        },
        { compiler: "typescript", inNode: ["node16", "bundler"], inBrowsers: ["nodenext", "bundler"] },
      ]
    : [
        { compiler: "typescript-5-6", inNode: ["node16"], inBrowsers: ["bundler"] },
        { compiler: "typescript-5", inNode: ["node10", "node16"], inBrowsers: ["nodenext", "bundler"] },
        { compiler: "typescript", inNode: ["node16", "bundler"], inBrowsers: ["bundler"] },
      ],
)("$compiler", ({ compiler, inNode, inBrowsers }) => {
  test.each(inNode)("finds the types of every entry with moduleResolution %s, in Node.js", (name) => {
    expect(compile(compiler, name, source(specifiers), { lib: ["es2022"], types: ["node"] })).toEqual(clean);
  });

  test.each(inBrowsers)("finds those of entries for any runtime with moduleResolution %s, in browsers", (name) => {
    expect(compile(compiler, name, source(portable), { lib: ["es2022", "dom"], types: [] })).toEqual(clean);
  });
});

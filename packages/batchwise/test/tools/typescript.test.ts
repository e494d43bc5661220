import { describe, expect, test } from "vitest";
import { Project, specifiers } from "./project.ts";

/** Every entry resolves to declarations, and not to `any`; types of the main entry go through inference. */
const source = `
  type IsAny<T> = 0 extends 1 & T ? true : false;
  ${specifiers.map((name, index) => `import * as entry${index} from "${name}";`).join("\n")}
  ${specifiers.map((_, index) => `export const known${index}: IsAny<typeof entry${index}> = false;`).join("\n")}
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

const common = {
  noEmit: true,
  strict: true,
  target: "es2022",
  lib: ["es2023", "esnext.disposable", "dom"],
  types: ["node"],
};
const modes = {
  node10: { module: "commonjs", moduleResolution: "node10" },
  "node16, required": { module: "node16", moduleResolution: "node16" },
  "node16, imported": { module: "node16", moduleResolution: "node16", file: "main.mts" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
};

describe.each(["typescript-5", "typescript"])("%s", (compiler) => {
  // TypeScript 7 has no node10 any more.
  const names = Object.keys(modes).filter((name) => compiler === "typescript-5" || name !== "node10");

  test.each(names)("finds the types of every entry with moduleResolution %s", (name) => {
    const { file = "main.ts", ...options } = { file: undefined, ...modes[name as keyof typeof modes] };
    // The declarations themselves are checked by the faster one.
    const skipLibCheck = compiler === "typescript-5";
    const config = { compilerOptions: { ...common, ...options, skipLibCheck }, files: [file] };
    const project = new Project("typescript", { [file]: source, "tsconfig.json": config });
    expect(project.run(`${compiler}/bin/tsc`, ["-p", "."])).toEqual({ status: 0, output: "" });
  });
});

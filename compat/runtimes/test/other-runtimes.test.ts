// Bun and Deno, by the programs of their npm packages: every entry by `require` and by `import`,
// threads, and what one build makes in the hands of the other.

import { copyFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../../../packages/batchwise/test/house/repository.ts";
import { Project, programOf } from "../../../packages/batchwise/test/tools/project.ts";

const fixtures = `${root}packages/batchwise/test/house/fixtures/`;

test.each([
  { name: "Bun", program: "bun/bin/bun.exe", args: ["run"] },
  { name: "Deno", program: "@deno/*/deno", args: ["run", "--allow-all", "--no-prompt", "--quiet"] },
])("$name loads every entry by require and by import, and each build understands the other", ({ program, args }) => {
  const project = new Project("runtime", {});
  for (const file of ["both-builds.mjs", "triple-handler.mjs"]) copyFileSync(fixtures + file, project.folder + file);
  const { status, output } = project.run(programOf(program), [...args, "both-builds.mjs"]);
  expect({ status, output }).toEqual({ status: 0, output: expect.stringMatching(/^\d+ entries\n$/) });
});

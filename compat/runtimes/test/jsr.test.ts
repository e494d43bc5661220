// The library on JSR, which takes its sources: what Deno's own check says before it publishes them
// (type errors: prove/jsr), and that they run.

import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { filesMatching, root } from "../../../packages/batchwise/test/house/repository.ts";
import { findEntries } from "../../../scripts/library/entries.ts";
import { isJsrCurrent } from "../../../scripts/library/jsr.ts";
import { deno, library, scratch } from "../deno.ts";

const fixtures = `${library}test/house/fixtures/`;

test("jsr.json agrees with package.json and the source folders", () => {
  expect(isJsrCurrent(findEntries())).toBe(true);
});

test("Deno would publish the sources: no slow type, no file besides", () => {
  const { status, output } = deno("publish", "--dry-run", "--allow-dirty", "--no-check");
  expect(status, output).toBe(0);
  // The import of a handler's own module, by the URL that the application gives.
  expect(output.match(/^(warning|error).*\n.*$/gm)).toEqual([
    expect.stringMatching(/unanalyzable-dynamic-import.*\n.*src\/threads\/handler-worker\.ts/),
  ]);
  const published = [...output.matchAll(/^ +file:\/\/(?<path>\S+) \(/gm)].map(({ groups }) => groups?.path);
  const pages = ["CHANGELOG.md", "LICENSE", "README.md", "jsr.json"].map((name) => `packages/batchwise/${name}`);
  const expected = [...filesMatching("packages/batchwise/src/**/*"), ...pages].map((path) => root + path);
  expect(published.sort()).toEqual(expected.sort());
});

test("Deno loads every entry from the sources, and runs a handler in threads", () => {
  const program = `${scratch("jsr")}program.mjs`;
  const imports = findEntries().map(({ source }) => `import * as _${source.replaceAll(/\W/g, "_")} from "${source}";`);
  const text = `${imports.join("\n")}
import { createBatcher } from "${library}src/index.ts";
import { threadHandler } from "${library}src/threads/index.ts";
const batcher = createBatcher(threadHandler(new URL("file://${fixtures}triple-handler.mjs")));
console.log(await batcher.submit(14));
await batcher.close();
`;
  writeFileSync(program, text);
  const { status, output } = deno(
    "run",
    "--allow-all",
    "--no-prompt",
    "--quiet",
    "--no-lock",
    "--config=jsr.json",
    program,
  );
  expect({ status, output }).toEqual({ status: 0, output: "42\n" });
});

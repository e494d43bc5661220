// Applications that are bundled: for Node.js into one file in either format, by esbuild and by
// Vite, run by the oldest supported Node.js; and for browsers by Vite.

import { readdirSync, readFileSync } from "node:fs";
import { build as esbuild, type Format } from "esbuild";
import { build as vite } from "vite";
import { describe, expect, test } from "vitest";
import { oldestRuntime } from "../../../../compat/runtimes/runtimes.ts";
import { Project, specifiers } from "./project.ts";

/**
 * Uses entries of each kind: portable, of Node.js alone, with a store, and names something of every
 * other.
 */
const application = `
  ${specifiers.map((name, index) => `import * as entry${index} from "${name}";`).join("\n")}
  import { batch, BatchwiseError } from "batchwise";
  import { createDispatcher, DispatchError, memoryStore } from "batchwise/dispatch";
  const entries = [${specifiers.map((_, index) => `entry${index}`).join(", ")}];
  const double = batch((items) => items.map((item) => item * 2));
  async function main() {
    const doubled = await Promise.all([1, 2].map((item) => double(item)));
    let refusal;
    try { createDispatcher({ store: memoryStore(), accounts: [] }); } catch (error) { refusal = error.code; }
    const isOurs = new DispatchError("NOT_FOUND", "none") instanceof BatchwiseError;
    const loaded = entries.every((entry) => Object.keys(entry).length > 0);
    console.log(JSON.stringify({ doubled, refusal, isOurs, loaded }));
  }
  void main();
`;
const right = { doubled: [2, 4], refusal: "INVALID_OPTION", isOurs: true, loaded: true };

function outcomeOf(project: Project, file: string): unknown {
  const { status, output } = project.run(oldestRuntime(), [file]);
  if (status !== 0) throw new Error(output);
  return JSON.parse(output);
}

describe("esbuild", () => {
  test.each<{ format: Format; extension: string }>([
    { format: "esm", extension: "mjs" },
    { format: "cjs", extension: "cjs" },
  ])("makes one $format file of all entries, and it runs", async ({ format, extension }) => {
    const project = new Project("esbuild", { "main.js": application });
    const outfile = `${project.folder}out.${extension}`;
    const entryPoints = [`${project.folder}main.js`];
    const external = ["onnxruntime-node", "@huggingface/*"];
    const { warnings } = await esbuild({
      entryPoints,
      outfile,
      format,
      external,
      bundle: true,
      platform: "node",
      logLevel: "silent",
    });
    expect(warnings).toEqual([]);
    expect(outcomeOf(project, outfile)).toEqual(right);
  });

  test("bundles a `require`, too", async () => {
    const required = application.replaceAll(/import (?:\* as )?(.+) from ("[^"]+");/g, "const $1 = require($2);");
    const project = new Project("esbuild", { "main.cjs": required });
    const outfile = `${project.folder}out.cjs`;
    const entryPoints = [`${project.folder}main.cjs`];
    const external = ["onnxruntime-node", "@huggingface/*"];
    const { warnings } = await esbuild({
      entryPoints,
      outfile,
      external,
      bundle: true,
      platform: "node",
      logLevel: "silent",
    });
    expect(warnings).toEqual([]);
    expect(outcomeOf(project, outfile)).toEqual(right);
  });
});

describe("Vite", () => {
  test("makes one file of all entries for a server, and it runs", async () => {
    const project = new Project("vite", { "main.js": application, "package.json": { type: "module" } });
    await vite({
      root: project.folder,
      configFile: false,
      logLevel: "silent",
      ssr: { noExternal: [/^batchwise/] },
      build: { ssr: "main.js", outDir: "out", rolldownOptions: { external: ["onnxruntime-node", /^@huggingface/] } },
    });
    expect(outcomeOf(project, `${project.folder}out/main.js`)).toEqual(right);
  });

  test("makes a page of the batcher and of the handler of a session, with nothing of Node.js in it", async () => {
    const page = `<script type="module" src="/main.js"></script>`;
    const main = `import { batch } from "batchwise"; import { onnxHandler } from "batchwise/onnx";
      import { batchTensors } from "batchwise/tensor"; Object.assign(globalThis, { batch, onnxHandler, batchTensors });`;
    const project = new Project("vite", { "index.html": page, "main.js": main, "package.json": { type: "module" } });
    await vite({ root: project.folder, configFile: false, logLevel: "silent", build: { outDir: "out" } });
    const [file = ""] = readdirSync(`${project.folder}out/assets`);
    const code = readFileSync(`${project.folder}out/assets/${file}`, "utf8");
    expect({
      batcher: code.includes("maxBatchSize"),
      node: /(from|import|require\() ?["'`]node:|browser-external/.exec(code)?.[0],
    }).toEqual({
      batcher: true,
      node: undefined,
    });
  });
});

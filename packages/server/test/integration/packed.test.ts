// Both packages as a user gets them: packed, and installed from the tarballs into an empty project
// without a network. Overrides link their dependencies to this repository's node_modules, because
// packing those would take half a minute; npm links only what a package declares. The runtime of
// models, 290 MB, is an optional peer and not installed: neither help nor jobs nor run may need it.

import { execFile, spawn } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { type Command, commandOf } from "../support/command.ts";
import { temporaryFolder } from "../support/folders.ts";
import { ended, Practice, QUICK } from "../support/practice.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const PACKED = ["./packages/batchwise", "./packages/server"];
/** This Node.js comes before the system's. */
const ENV = { PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };

const execute = promisify(execFile);
let project: string;

/** The tarballs of both packages, by their names. */
async function pack(to: string): Promise<Record<string, string>> {
  const args = ["pack", ...PACKED, "--pack-destination", to, "--ignore-scripts", "--json"];
  const { stdout } = await execute("npm", args, {
    cwd: ROOT,
    env: { ...process.env, ...ENV },
    maxBuffer: 64 * 2 ** 20,
  });
  const answer = JSON.parse(stdout) as Record<string, Tarball> | Tarball[];
  return Object.fromEntries(Object.values(answer).map(({ name, filename }) => [name, `file:${join(to, filename)}`]));
}

/** The server's own version of a dependency comes before the workspace's. */
function installedAt(name: string): string {
  const own = join(ROOT, "packages/server/node_modules", name);
  return existsSync(own) ? own : join(ROOT, "node_modules", name);
}

/** A link instead of an installation, which would take a minute for some. Returns its path. */
function link(name: string): string {
  const path = join(project, "node_modules", name);
  symlinkSync(installedAt(name), path);
  return path;
}

interface Tarball {
  readonly name: string;
  readonly filename: string;
}

beforeAll(async () => {
  for (const file of ["packages/batchwise/dist/index.js", "packages/server/dist/cli/main.js"]) {
    if (!existsSync(ROOT + file)) throw new Error(`${file} is missing: run \`npm run build\` first`);
  }
  project = await temporaryFolder();
  const dependencies = await pack(await temporaryFolder());
  const { dependencies: declared } = JSON.parse(readFileSync(`${ROOT}packages/server/package.json`, "utf8"));
  const names = Object.keys(declared).filter((name) => name !== "batchwise");
  const overrides = Object.fromEntries(names.map((name) => [name, `file:${installedAt(name)}`]));
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, dependencies, overrides }));
  const args = ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"];
  await execute("npm", args, { cwd: project, env: { ...process.env, ...ENV } });
});

function npx(...args: readonly string[]): Command {
  return start("npx", ["--offline", "batchwise", ...args]);
}

/** The file that npx starts, without the second that npx takes. */
function installed(practice: Practice | null, ...args: readonly string[]): Command {
  const account = practice === null ? {} : { OPENAI_API_KEY: "practice", OPENAI_BASE_URL: practice.url };
  return start(join(project, "node_modules/.bin/batchwise"), args, account);
}

function start(file: string, args: readonly string[], env = {}): Command {
  const options = { cwd: project, env: { ...process.env, ...ENV, ...env } };
  return commandOf(spawn(file, args, { ...options, stdio: ["ignore", "pipe", "pipe"] }));
}

test("in an empty project the command runs by npx, names a client that is missing, and works once that is there", async () => {
  const help = await ended(npx("--help"));
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining("Usage: batchwise [options] [command]") });

  const practice = await Practice.start();
  practice.writeLines("in.jsonl", 20);
  const input = practice.file("in.jsonl");
  const output = practice.file("out.jsonl");
  const run = (): Command => installed(practice, "run", input, "--output", output, ...QUICK);
  const says = '--account openai needs the package "openai", which is not installed here: npm install openai';
  expect(await ended(run())).toMatchObject({ code: 2, output: expect.stringContaining(says) });
  link("openai");
  expect(await ended(run())).toMatchObject({ code: 0, output: expect.stringContaining("20 outcomes (20 succeeded)") });
  expect(practice.lines("out.jsonl").length).toBe(20);

  const list = await ended(installed(null, "jobs", "list", "--json"));
  expect({ code: list.code, ...JSON.parse(list.stdout) }).toMatchObject({
    code: 0,
    jobs: [{ job: "in", succeeded: 20 }],
  });
  for (const [store, needed] of [
    ["postgres://h/d", "pg"],
    ["redis://h", "ioredis"],
  ] as const) {
    const { code, output: told } = await ended(installed(null, "jobs", "list", "--store", store));
    expect({ code, told }).toMatchObject({ code: 2, told: expect.stringContaining(`npm install ${needed}`) });
  }
});

test("in an empty project serve says which runtime to install", async () => {
  expect(existsSync(join(project, "node_modules/onnxruntime-node"))).toBe(false);
  const says =
    'serve needs the package "onnxruntime-node", which is not installed here: ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node@1';
  expect(await ended(installed(null, "serve"))).toMatchObject({ code: 2, output: expect.stringContaining(says) });
});

/** Starts `serve` by npx, asks it for a vector and ends it, with npx and the shell between. */
async function dimensionsServed(cwd: string, model = "batchwise-demo", ...flags: string[]): Promise<number> {
  const args = [
    "--offline",
    "batchwise",
    "serve",
    "--port",
    "0",
    "--workers",
    "1",
    "--model-dir",
    await temporaryFolder(),
    ...flags,
  ];
  const child = spawn("npx", args, {
    cwd,
    env: { ...process.env, ...ENV },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const service = commandOf(child);
  try {
    const [origin] = await service.prints(/http:\/\/127\.0\.0\.1:\d+/);
    const body = JSON.stringify({ model, input: "hello" });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${origin}/v1/embeddings`, { method: "POST", headers, body });
    const { data } = (await response.json()) as { data: readonly { embedding: readonly number[] }[] };
    return data[0]?.embedding.length ?? 0;
  } finally {
    process.kill(-(child.pid as number), "SIGTERM");
    await service.ended;
  }
}

test("serve by npx answers where the runtime is there, in an empty project and in a clone that is built", async () => {
  const runtime = link("onnxruntime-node");
  expect(await dimensionsServed(project)).toBe(128);
  expect(await ended(installed(null, "demo-model", "demo"))).toMatchObject({ code: 0 });
  expect(await dimensionsServed(project, "demo", "--model", "demo")).toBe(128);
  unlinkSync(runtime);
  expect(await dimensionsServed(ROOT)).toBe(128);
});

test("in an empty project every entry of the library loads by require and by import", async () => {
  const fixtures = join(ROOT, "packages/batchwise/test/house/fixtures");
  for (const file of ["both-builds.mjs", "triple-handler.mjs"]) copyFileSync(join(fixtures, file), join(project, file));
  const { stdout } = await execute(process.execPath, ["both-builds.mjs"], { cwd: project });
  expect(stdout).toMatch(/^\d+ entries\n$/);
});

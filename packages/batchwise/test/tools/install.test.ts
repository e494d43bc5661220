// npm beside packages of any version: a project that uses the engine alone may have any release of
// an SDK that the library works with elsewhere. Stand-ins in the project's folder have their names
// and versions, so npm asks no registry.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../house/repository.ts";
import { packed } from "./project.ts";

/** A project that has these packages, by name and version; removed when the test has ended. */
function projectWith(packages: Readonly<Record<string, string>>): string {
  const folder = scratchFolder("install");
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const dependencies = Object.fromEntries(
    Object.entries(packages).map(([name, version]) => {
      mkdirSync(`${folder}stand-ins/${name}`, { recursive: true });
      writeFileSync(`${folder}stand-ins/${name}/package.json`, JSON.stringify({ name, version }));
      return [name, `file:stand-ins/${name}`];
    }),
  );
  writeFileSync(`${folder}package.json`, JSON.stringify({ private: true, dependencies }));
  return folder;
}

/**
 * With warnings: some releases of npm refuse a range that the project breaks, others only warn of
 * it.
 */
function npm(folder: string, ...args: readonly string[]): { readonly status: number | null; readonly stderr: string } {
  const all = [...args, "--dry-run", "--offline", "--ignore-scripts", "--loglevel=warn", `--prefix=${folder}`];
  return spawnSync("npm", all, { cwd: folder, encoding: "utf8", timeout: 60_000 });
}

const older = {
  "@anthropic-ai/sdk": "0.60.0",
  "@aws-sdk/client-bedrock": "2.0.0",
  "@aws-sdk/client-s3": "2.0.0",
  "@google-cloud/storage": "6.12.0",
  "@google/genai": "1.52.0",
  "@huggingface/tokenizers": "0.1.0",
  "@huggingface/transformers": "3.8.1",
  "@mistralai/mistralai": "1.10.0",
  "@opentelemetry/api": "1.0.0",
  ioredis: "4.31.0",
  "onnxruntime-node": "1.23.0",
  openai: "4.104.0",
  pg: "7.18.2",
  redis: "4.7.1",
};
const newer = Object.fromEntries(Object.keys(older).map((name) => [name, "99.0.0-rc.1"]));

test.each([
  ["older than any that the library works with", older],
  ["that come later, as pre-releases", newer],
])("the library installs beside SDKs %s", (_, packages) => {
  const { status, stderr } = npm(projectWith(packages), "install", packed());
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringContaining("ERESOLVE") });
});

test("npm complains of a range that such an SDK is not in", () => {
  const folder = projectWith({ openai: "4.104.0" });
  mkdirSync(`${folder}package`);
  const strict = { name: "strict", version: "1.0.0", peerDependencies: { openai: "^5.0.0" } };
  const manifest = { ...strict, peerDependenciesMeta: { openai: { optional: true } } };
  writeFileSync(`${folder}package/package.json`, JSON.stringify(manifest));
  execFileSync("tar", ["-czf", "strict.tgz", "package"], { cwd: folder });
  expect(npm(folder, "install", "./strict.tgz").stderr).toContain("ERESOLVE");
});

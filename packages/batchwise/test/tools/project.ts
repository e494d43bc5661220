// A user's project with the library as npm installs it: packed, and unpacked into the project's own
// node_modules. Uses the tools of this repository, which the project finds in a parent folder.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { built, manifestOf, root, scratchFolder } from "../house/repository.ts";

/** The import specifier of each entry. */
export const specifiers: readonly string[] = Object.keys(manifestOf("packages/batchwise").exports)
  .filter((name) => !name.endsWith(".json"))
  .map((name) => `batchwise${name.slice(1)}`);

const tarball = `${root}.cache/batchwise.tgz`;

/**
 * Packed once after each build. Test files run in parallel, so the file appears whole or not at
 * all.
 */
export function packed(): string {
  const changed = Math.max(...[built("index.cjs"), `${root}packages/batchwise/package.json`].map(changedAt));
  if (existsSync(tarball) && changedAt(tarball) > changed) return tarball;
  const folder = scratchFolder("packed");
  const args = ["pack", "./packages/batchwise", "--pack-destination", folder, "--ignore-scripts", "--silent"];
  const name = execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  renameSync(folder + name, tarball);
  rmSync(folder, { recursive: true });
  return tarball;
}

function changedAt(file: string): number {
  return statSync(file).mtimeMs;
}

/**
 * Keeps tools from finding the settings of this repository, where the library's names mean its
 * sources.
 */
const ownSettings = { "package.json": { type: "commonjs" }, "jsconfig.json": {} };

export interface Ended {
  readonly status: number | null;
  /** Its output on both streams. */
  readonly output: string;
}

/**
 * A program of compat/runtimes, which npm installs for this platform only, by a pattern in
 * node_modules.
 */
export function programOf(pattern: string): string {
  const home = `${root}compat/runtimes/`;
  const [file] = globSync(`node_modules/${pattern}`, { cwd: home });
  if (file === undefined) throw new Error(`no ${pattern} for this machine: run \`npm run compat\``);
  return home + file;
}

export class Project {
  readonly folder: string;

  readonly #home: string;

  /** Removed after the test. `home`: the folder of the repository whose packages it uses. */
  constructor(name: string, files: Readonly<Record<string, string | object>>, home: string = root) {
    this.#home = home;
    this.folder = scratchFolder(name, home);
    onTestFinished(() => rmSync(this.folder, { recursive: true }));
    const library = `${this.folder}node_modules/batchwise`;
    mkdirSync(library, { recursive: true });
    execFileSync("tar", ["-xzf", packed(), "-C", library, "--strip-components=1"]);
    for (const [path, content] of Object.entries({ ...ownSettings, ...files })) {
      mkdirSync(this.folder + path.split("/").slice(0, -1).join("/"), { recursive: true });
      writeFileSync(this.folder + path, typeof content === "string" ? content : JSON.stringify(content));
    }
  }

  /** Runs a program of its home's node_modules, or another by its absolute path. */
  run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Ended {
    const file = program.startsWith("/") ? program : `${this.#home}node_modules/${program}`;
    const [command, all] = /\.m?js$|bin\/(tsc|jest)$/.test(file) ? [process.execPath, [file, ...args]] : [file, args];
    const { status, stdout, stderr } = spawnSync(command, all, {
      cwd: this.folder,
      env: { ...process.env, NODE_OPTIONS: "", NO_COLOR: "1", FORCE_COLOR: "0", ...env },
      encoding: "utf8",
      timeout: 280_000,
    });
    return { status, output: stdout + stderr };
  }
}

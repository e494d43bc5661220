// Shows that the stream simulation finds faults: puts one deliberate fault at a time into a copy of
// the sources, runs the worlds on it and prints the number of worlds and the broken promise. Exits
// with 1 if a fault survives.
// `npx node packages/batchwise/test/stream/simulation/mutate.ts [part of a name]`

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type StreamFault, streamFaults } from "./faults.ts";

const WORLDS = 1000;
const LIMIT_MS = 60_000;
const self = fileURLToPath(import.meta.url);
const sources = fileURLToPath(new URL("../../../src", import.meta.url));

/** The child process: runs worlds on the sources in a folder until one breaks a promise. */
async function runWorlds(folder: string): Promise<string> {
  const root = pathToFileURL(`${folder}/`).href;
  registerHooks({
    resolve: (specifier, context, next) => {
      const [name, ...path] = specifier.split("/");
      return name === "batchwise" ? next(root + [...path, "index.ts"].join("/"), context) : next(specifier, context);
    },
  });
  const { runWorld } = await import("./run.ts");
  for (let seed = 0; seed < WORLDS; seed += 1) {
    try {
      await runWorld(seed);
    } catch (error) {
      return `seed ${seed}: ${(error as Error).message.slice(0, 80)}`;
    }
  }
  return "SURVIVES";
}

/** The first seed that finds the fault and the broken promise, or "SURVIVES". */
export function examine(fault: StreamFault): string {
  const folder = mkdtempSync(join(tmpdir(), "batchwise-fault-"));
  try {
    cpSync(sources, folder, { recursive: true });
    const path = join(folder, "stream", fault.file);
    const text = readFileSync(path, "utf8");
    if (text.split(fault.find).length !== 2) throw new Error(`"${fault.name}": its piece is not in ${fault.file} once`);
    writeFileSync(
      path,
      text.replace(fault.find, () => fault.replace),
    );
    const args = ["--no-warnings", self, "--worlds", folder];
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: LIMIT_MS });
    return status === 0 ? stdout.trim() : "(an exception, or no end)";
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function examineAll(part: string): void {
  for (const fault of streamFaults.filter(({ name }) => name.includes(part))) {
    const finding = examine(fault);
    if (finding === "SURVIVES") process.exitCode = 1;
    console.log(`${fault.name.padEnd(64)} ${finding}`);
  }
}

if (process.argv[1] === self) {
  const [first = "", folder] = process.argv.slice(2);
  if (first === "--worlds" && folder !== undefined) console.log(await runWorlds(folder));
  else examineAll(first);
}

// Shows that the simulation has teeth: puts one deliberate fault after the other into a copy of the engine and runs the
// simulation on it until a check catches the fault. Prints a table; exits with 1 where a fault survives, where the
// engine without faults fails, or where a fault no longer fits the sources. `node scripts/mutate.ts [part of a name]`.

import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Fault, faults } from "./faults.ts";

const WORLDS = 800;
const LIMIT_MS = 120_000;
const sources = fileURLToPath(new URL("../packages/batchwise/src", import.meta.url));

/** What the worlds came to: how many ran, and what the last of them broke. */
interface Finding {
  readonly worlds: number;
  readonly caughtBy: string | undefined;
}

/** The child's part: runs worlds on the sources in a folder until one breaks a promise. */
async function runWorlds(folder: string): Promise<Finding> {
  const root = pathToFileURL(`${folder}/`).href;
  registerHooks({
    resolve: (specifier, context, next) => {
      const [name, ...path] = specifier.split("/");
      return name === "batchwise" ? next(root + [...path, "index.ts"].join("/"), context) : next(specifier, context);
    },
  });
  const { runWorld } = await import("../packages/batchwise/test/simulation/run-world.ts");
  for (let seed = 1; seed <= WORLDS; seed += 1) {
    const [violation] = await runWorld(seed);
    if (violation !== undefined) return { worlds: seed, caughtBy: violation.check };
  }
  return { worlds: WORLDS, caughtBy: undefined };
}

/** Runs the worlds in a process of their own, which may throw or hang: both count as caught. */
function findingOf(folder: string): Promise<Finding> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ["--no-warnings", fileURLToPath(import.meta.url), "--worlds", folder]);
    let output = "";
    let hangs = false;
    const timer = setTimeout(() => {
      hangs = true;
      child.kill("SIGKILL");
    }, LIMIT_MS);
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(JSON.parse(output) as Finding);
      else resolve({ worlds: 0, caughtBy: hangs ? "(does not end)" : "(an exception in the engine)" });
    });
  });
}

function apply(fault: Fault, folder: string): void {
  const path = join(folder, "core", fault.file);
  const text = readFileSync(path, "utf8");
  const count = text.split(fault.find).length - 1;
  if (count !== 1) throw new Error(`"${fault.name}": its piece is in ${fault.file} ${count} times, not once`);
  writeFileSync(
    path,
    text.replace(fault.find, () => fault.replace),
  );
}

async function examine(fault: Fault | undefined): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), "batchwise-fault-"));
  try {
    cpSync(sources, folder, { recursive: true });
    if (fault !== undefined) apply(fault, folder);
    return await findingOf(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function row(name: string, { worlds, caughtBy }: Finding): string {
  const by = caughtBy === undefined ? "SURVIVES" : caughtBy;
  return `| ${name.padEnd(54)} | ${by.padEnd(30)} | ${String(worlds).padStart(6)} |`;
}

async function examineAll(part: string): Promise<void> {
  const sound = await examine(undefined);
  if (sound.caughtBy !== undefined) throw new Error(`without a fault, seed ${sound.worlds} fails: ${sound.caughtBy}`);
  console.log(`${sound.worlds} worlds pass without a fault.\n`);
  console.log(`| ${"fault".padEnd(54)} | ${"caught by".padEnd(30)} | worlds |`);
  console.log(`| ${"-".repeat(54)} | ${"-".repeat(30)} | ${"-".repeat(5)}: |`);
  const chosen = faults.filter(({ name }) => name.includes(part));
  let survivors = 0;
  for (const fault of chosen) {
    const finding = await examine(fault);
    if (finding.caughtBy === undefined) survivors += 1;
    console.log(row(fault.name, finding));
  }
  console.log(`\n${chosen.length - survivors} of ${chosen.length} faults caught.`);
  if (survivors > 0) process.exitCode = 1;
}

const [first = "", folder] = process.argv.slice(2);
if (first === "--worlds" && folder !== undefined) console.log(JSON.stringify(await runWorlds(folder)));
else await examineAll(first);

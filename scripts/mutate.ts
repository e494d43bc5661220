// Shows that the simulations find faults: puts one deliberate fault at a time into a copy of the
// sources and runs the simulation of the engine, or of the dispatcher, until a check catches it.
// Prints a table; exits with 1 if a fault survives, if the unchanged sources fail, or if a fault no
// longer fits the sources.
// `node scripts/mutate.ts [engine | dispatcher] [part of a name]`

import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { dispatcherFaults } from "./faults/dispatcher.ts";
import { engineFaults } from "./faults/engine.ts";
import type { Fault } from "./faults/fault.ts";

type Room = "engine" | "dispatcher";

const ROOMS: Readonly<Record<Room, { readonly faults: readonly Fault[]; readonly worlds: number }>> = {
  engine: { faults: engineFaults, worlds: 800 },
  dispatcher: { faults: dispatcherFaults, worlds: 500 },
};
/** The longest that a world takes, on a busy machine too. One that takes longer does not end. */
const WORLD_LIMIT_MS = 60_000;
const sources = fileURLToPath(new URL("../packages/batchwise/src", import.meta.url));

/** The result of the worlds: how many ran, and the promise that the last one broke. */
interface Finding {
  readonly worlds: number;
  readonly caughtBy: string | undefined;
}

/**
 * The child process: runs worlds on the sources in a folder until one breaks a promise. Prints the
 * seed of each.
 */
async function runWorlds(room: Room, folder: string): Promise<Finding> {
  takeSourcesFrom(folder);
  const run = room === "engine" ? await engineWorlds() : await dispatcherWorlds();
  const { worlds } = ROOMS[room];
  for (let seed = 1; seed <= worlds; seed += 1) {
    console.log(seed);
    const caughtBy = await run(seed);
    if (caughtBy !== undefined) return { worlds: seed, caughtBy };
  }
  return { worlds, caughtBy: undefined };
}

/** Redirects imports of the sources, by package name or by path, to the folder. */
function takeSourcesFrom(folder: string): void {
  const [root, original] = [folder, sources].map((path) => pathToFileURL(`${path}/`).href) as [string, string];
  registerHooks({
    resolve: (specifier, context, next) => {
      const [name, ...path] = specifier.split("/");
      if (name === "batchwise") return next(root + [...path, "index.ts"].join("/"), context);
      const found = next(specifier, context);
      if (!found.url.startsWith(original)) return found;
      return { ...found, url: root + found.url.slice(original.length) };
    },
  });
}

/** Runs one world; returns the promise that it broke. */
type RunWorld = (seed: number) => Promise<string | undefined>;

async function engineWorlds(): Promise<RunWorld> {
  const { runWorld } = await import("../packages/batchwise/test/simulation/run-world.ts");
  return async (seed) => (await runWorld(seed))[0]?.check;
}

async function dispatcherWorlds(): Promise<RunWorld> {
  const { simulate } = await import("../packages/batchwise/test/dispatch/support/simulation/simulation.ts");
  return async (seed) => {
    const report = Object.entries(await simulate(seed));
    return report.find(([, found]) => Array.isArray(found) && found.length > 0)?.[0];
  };
}

/**
 * Runs the worlds in a separate process, which may throw or hang: both count as caught. Rejects for
 * a source that does not parse or that uses a name which nothing defines. A property that does not
 * exist counts as caught by an exception: read those faults again when they are new.
 */
function findingOf(room: Room, folder: string): Promise<Finding> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--no-warnings", fileURLToPath(import.meta.url), "--worlds", room, folder]);
    let output = "";
    let errors = "";
    let hangs = false;
    const timer = setTimeout(() => {
      hangs = true;
      child.kill("SIGKILL");
    }, WORLD_LIMIT_MS);
    child.stdout.on("data", (chunk: Buffer) => {
      timer.refresh();
      output += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      const malformed = /^(?:SyntaxError: .*|ReferenceError: .* is not defined)$/m.exec(errors);
      if (code === 0) resolve(JSON.parse(output.trimEnd().split("\n").at(-1) ?? "") as Finding);
      else if (malformed !== null) reject(new Error(`the faulty source is no program: ${malformed[0]}`));
      else resolve({ worlds: 0, caughtBy: hangs ? "(does not end)" : "(an exception)" });
    });
  });
}

function apply(fault: Fault, folder: string): void {
  const path = join(folder, fault.file);
  const text = readFileSync(path, "utf8");
  const count = text.split(fault.find).length - 1;
  if (count !== 1) throw new Error(`"${fault.name}": its piece is in ${fault.file} ${count} times, not once`);
  writeFileSync(
    path,
    text.replace(fault.find, () => fault.replace),
  );
}

async function examine(room: Room, fault: Fault | undefined): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), "batchwise-fault-"));
  try {
    cpSync(sources, folder, { recursive: true });
    if (fault !== undefined) apply(fault, folder);
    return await findingOf(room, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function row(name: string, { worlds, caughtBy }: Finding): string {
  const by = caughtBy === undefined ? "SURVIVES" : caughtBy;
  return `| ${name.padEnd(54)} | ${by.padEnd(30)} | ${String(worlds).padStart(6)} |`;
}

async function examineAll(room: Room, part: string): Promise<void> {
  const sound = await examine(room, undefined);
  if (sound.caughtBy !== undefined) throw new Error(`without a fault, seed ${sound.worlds} fails: ${sound.caughtBy}`);
  console.log(`${room}: ${sound.worlds} worlds pass without a fault.\n`);
  console.log(`| ${"fault".padEnd(54)} | ${"caught by".padEnd(30)} | worlds |`);
  console.log(`| ${"-".repeat(54)} | ${"-".repeat(30)} | ${"-".repeat(5)}: |`);
  const chosen = ROOMS[room].faults.filter(({ name }) => name.includes(part));
  let survivors = 0;
  for (const fault of chosen) {
    const finding = await examine(room, fault);
    if (finding.caughtBy === undefined) survivors += 1;
    console.log(row(fault.name, finding));
  }
  console.log(`\n${chosen.length - survivors} of ${chosen.length} faults caught.\n`);
  if (survivors > 0) process.exitCode = 1;
}

function isRoom(word: string | undefined): word is Room {
  return word !== undefined && Object.hasOwn(ROOMS, word);
}

const [first = "", second = "", folder] = process.argv.slice(2);
if (first === "--worlds" && isRoom(second) && folder !== undefined) {
  console.log(JSON.stringify(await runWorlds(second, folder)));
} else if (isRoom(first)) await examineAll(first, second);
else for (const room of ["engine", "dispatcher"] as const) await examineAll(room, first);

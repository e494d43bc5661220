// Runs the commands that a script is made of, in order, and tells how each ended and how long it took.
// A failed step does not hide the later ones; what stops at the first failure says so where it calls.

import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";

export interface Step {
  readonly name: string;
  /** Command lines, run one after the other; a step ends at its first failing one. */
  readonly commands: readonly string[];
}

export function run(command: string): boolean {
  const [file = "", ...args] = command.split(" ");
  return spawnSync(file, args, { stdio: "inherit" }).status === 0;
}

/** Prints a line per step when all have run; ends the process with a failure if one of them failed. */
export function runSteps(steps: readonly Step[]): void {
  const lines: string[] = [];
  for (const { name, commands } of steps) {
    console.log(`\n== ${name}`);
    const startedAt = performance.now();
    const passed = commands.every(run);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    lines.push(`${passed ? "ok  " : "FAIL"}  ${name} (${seconds} s)`);
    if (!passed) process.exitCode = 1;
  }
  console.log(`\n${lines.join("\n")}`);
}

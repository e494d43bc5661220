// Runs the commands that a script is made of, in order, and tells how each ended and how long it
// took. A failed step does not hide the later ones. Command lines are split at spaces: no quoting,
// no shell.

import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";

interface Step {
  readonly name: string;
  readonly command: string;
}

/**
 * Whether the command ended well, in a folder or where we are; what it prints goes straight
 * through.
 */
export function run(command: string, cwd = "."): boolean {
  const [file = "", ...args] = command.split(" ");
  return spawnSync(file, args, { stdio: "inherit", cwd }).status === 0;
}

/**
 * Prints a line per step when all have run; the process ends with a failure if one of them failed.
 */
export function runSteps(steps: readonly Step[]): void {
  const lines: string[] = [];
  for (const { name, command } of steps) {
    console.log(`\n== ${name}`);
    const startedAt = performance.now();
    const passed = run(command);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    lines.push(`${passed ? "ok  " : "FAIL"}  ${name} (${seconds} s)`);
    if (!passed) process.exitCode = 1;
  }
  console.log(`\n${lines.join("\n")}`);
}

// Runs the commands of a script, optionally several at once, and reports the result and duration of
// each. A failed step does not stop the others. Command lines are split at spaces: no quoting, no
// shell.

import { spawn, spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";

interface Step {
  readonly name: string;
  readonly command: string;
}

/** Runs the command in `cwd` with this process's own output; returns true if it exited with 0. */
export function run(command: string, cwd = "."): boolean {
  const [file = "", ...args] = command.split(" ");
  return spawnSync(file, args, { stdio: "inherit", cwd }).status === 0;
}

/** Resolves with the command's success (exit code 0) and its output. */
export function runQuietly(command: string, cwd = "."): Promise<{ readonly passed: boolean; readonly output: string }> {
  const [file = "", ...args] = command.split(" ");
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], cwd });
    let output = "";
    const add = (chunk: string): void => {
      output += chunk;
    };
    child.stdout.setEncoding("utf8").on("data", add);
    child.stderr.setEncoding("utf8").on("data", add);
    child.once("error", (error) => resolve({ passed: false, output: `${output}${error.message}\n` }));
    child.once("close", (code) => resolve({ passed: code === 0, output }));
  });
}

async function runStep({ name, command }: Step, together: boolean): Promise<string> {
  if (!together) console.log(`\n== ${name}`);
  const startedAt = performance.now();
  const { passed, output } = together ? await runQuietly(command) : { passed: run(command), output: "" };
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (together) process.stdout.write(`\n== ${name}\n${output}`);
  if (!passed) process.exitCode = 1;
  return `${passed ? "ok  " : "FAIL"}  ${name} (${seconds} s)`;
}

/**
 * Runs the steps, at most `atOnce` at a time, and prints a line per step when all have run. With
 * `atOnce` above 1 a step's output is printed when it ends. Sets a failing exit code if one failed.
 */
export async function runSteps(steps: readonly Step[], { atOnce = 1 } = {}): Promise<void> {
  const lines: string[] = [];
  const left = steps.entries();
  const worker = async (): Promise<void> => {
    for (const [index, step] of left) lines[index] = await runStep(step, atOnce > 1);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  console.log(`\n${lines.join("\n")}`);
}

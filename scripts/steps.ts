// Runs the commands of a script, optionally several at once, and reports the result and duration of
// each. A failed step does not stop the others. Command lines are split at spaces: no quoting, no
// shell.

import { spawn, spawnSync } from "node:child_process";
import { setPriority } from "node:os";
import { performance } from "node:perf_hooks";

export interface Step {
  readonly name: string;
  readonly command: string;
  /** The names of the steps that have to pass first. Default: none. */
  readonly after?: readonly string[];
}

/** Runs the command in `cwd` with this process's own output; returns true if it exited with 0. */
export function run(command: string, cwd = "."): boolean {
  const [file = "", ...args] = command.split(" ");
  return spawnSync(file, args, { stdio: "inherit", cwd }).status === 0;
}

/** The same without keeping this process from its other work. */
export function runBeside(command: string): Promise<boolean> {
  const [file = "", ...args] = command.split(" ");
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: "inherit" });
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
}

/**
 * Resolves with the command's success (exit code 0) and its output. `niceness`: priority of the
 * command and its children below other processes, 0 to 19.
 */
export function runQuietly(
  command: string,
  cwd = ".",
  niceness = 0,
): Promise<{ readonly passed: boolean; readonly output: string }> {
  const [file = "", ...args] = command.split(" ");
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], cwd });
    if (niceness > 0 && child.pid !== undefined) setPriority(child.pid, niceness);
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

interface StepResult {
  readonly name: string;
  readonly passed: boolean;
  /** Its line in the summary. */
  readonly line: string;
}

async function runStep({ name, command }: Step, together: boolean): Promise<StepResult> {
  if (!together) console.log(`\n== ${name}`);
  const startedAt = performance.now();
  const { passed, output } = together ? await runQuietly(command) : { passed: run(command), output: "" };
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (together) process.stdout.write(`\n== ${name}\n${output}`);
  return { name, passed, line: `${passed ? "ok  " : "FAIL"}  ${name} (${seconds} s)` };
}

/**
 * Runs the steps, at most `atOnce` at a time, and returns their results when all have ended. With
 * `atOnce` above 1 a step's output is printed when it ends. A step after one that failed does not
 * run, and fails. Sets a failing exit code if one failed.
 */
export async function runSteps(steps: readonly Step[], { atOnce = 1 } = {}): Promise<StepResult[]> {
  const results = new Map<string, Promise<StepResult>>();
  let free = atOnce;
  const waiting: (() => void)[] = [];
  const start = async (step: Step): Promise<StepResult> => {
    const { name, after = [] } = step;
    const before = await Promise.all(after.map((earlier) => results.get(earlier)));
    if (before.some((result) => result?.passed !== true))
      return { name, passed: false, line: `FAIL  ${name} (not run)` };
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    const result = await runStep(step, atOnce > 1);
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
    return result;
  };
  for (const step of steps) results.set(step.name, start(step));
  const ended = await Promise.all(results.values());
  if (ended.some(({ passed }) => !passed)) process.exitCode = 1;
  return ended;
}

/** Prints a line per step. */
export function printResults(results: readonly StepResult[]): void {
  console.log(`\n${results.map(({ line }) => line).join("\n")}`);
}

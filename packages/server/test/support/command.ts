/** Runs the `batchwise` command from the sources in a process of its own, and ends that process with the test. */

import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const KEPT = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
const NAMES = new URL("./source-names.ts", import.meta.url).href;

export interface Command {
  readonly process: ChildProcess;
  /** Everything written so far, to either stream. */
  output(): string;
  /** Everything written so far to standard output. */
  stdout(): string;
  /** Resolves once the output matches; rejects when the process ends before. */
  prints(pattern: RegExp): Promise<RegExpMatchArray>;
  /** The exit code, or the name of the signal that ended the process. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

const started: Command[] = [];

afterEach(async () => {
  for (const command of started.splice(0)) {
    if (command.process.exitCode === null && command.process.signalCode === null) command.process.kill("SIGKILL");
    await command.ended;
  }
});

export interface CommandPlace {
  readonly cwd?: string;
  /** In place of the environment of the tests, but for the path and the cache of compiled sources. */
  readonly env?: Readonly<Record<string, string>>;
}

export function startCommand(...args: readonly string[]): Command {
  return startCommandIn({}, ...args);
}

export function startCommandIn({ cwd, env }: CommandPlace, ...args: readonly string[]): Command {
  const child = spawn(process.execPath, ["--import", NAMES, MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: { ...KEPT, ...env } }),
  });
  return commandOf(child);
}

/** What a process that was started in another way prints, and how it ends. */
export function commandOf(child: ChildProcessByStdio<null, Readable, Readable>): Command {
  let output = "";
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      for (const check of waiting) check();
    });
  }
  const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  const command: Command = {
    process: child,
    output: () => output,
    stdout: () => printed,
    prints: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const match = output.match(pattern);
          if (match === null) return;
          waiting.delete(check);
          resolve(match);
        };
        waiting.add(check);
        check();
        void ended.then(() => reject(new Error(`The command ended without printing ${pattern}:\n${output}`)));
      }),
    ended,
  };
  started.push(command);
  return command;
}

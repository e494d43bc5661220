/**
 * Runs the `batchwise` command in its own process, and ends that process with the test. It runs a
 * bundle of the sources, which loads in a quarter of the time that the sources take.
 */

import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { afterEachTest } from "../../../../scripts/after-tests.ts";
import { commandBundle } from "../../../batchwise/test/integration/services/kept.ts";

/** The file of the command. */
export const PROGRAM: string = await commandBundle();
const KEPT = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };

export interface Command {
  readonly process: ChildProcess;
  /** Everything written so far to either stream. */
  output(): string;
  /** Everything written so far to standard output. */
  stdout(): string;
  /** Resolves when the output matches; rejects if the process ends before. */
  prints(pattern: RegExp): Promise<RegExpMatchArray>;
  /** The exit code, or the name of the signal that ended the process. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

const started: Command[] = [];

afterEachTest(async () => {
  for (const command of started.splice(0)) {
    if (command.process.exitCode === null && command.process.signalCode === null) command.process.kill("SIGKILL");
    await command.ended;
  }
});

export interface CommandPlace {
  readonly cwd?: string;
  /** Replaces the environment of the tests, except the path and the cache of compiled sources. */
  readonly env?: Readonly<Record<string, string>>;
  /** Most files and sockets that the process may open. Default: as many as the tests. */
  readonly openFiles?: number;
}

export function startCommand(...args: readonly string[]): Command {
  return startCommandIn({}, ...args);
}

export function startCommandIn({ cwd, env, openFiles }: CommandPlace, ...args: readonly string[]): Command {
  const limited = openFiles === undefined ? [] : ["sh", "-c", `ulimit -n ${openFiles}; exec "$0" "$@"`];
  const [file = "", ...rest] = [...limited, process.execPath, PROGRAM, ...args];
  const child = spawn(file, rest, {
    stdio: ["ignore", "pipe", "pipe"],
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: { ...KEPT, ...env } }),
  });
  return commandOf(child);
}

/** The output and the end of a process that was started in another way. */
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

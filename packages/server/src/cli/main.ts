#!/usr/bin/env node
/**
 * The `batchwise` command: parses the arguments and calls the action. The error of a wrong argument
 * says what was expected. docs/command.md lists the exit codes.
 */

import { readFileSync } from "node:fs";
import { BatchwiseError } from "batchwise";
import { Command, CommanderError } from "commander";
import { CommandError, EXIT, wordsOf } from "./common/failures.ts";
import { linesOf, print, warn } from "./common/terminal.ts";
import { demoModelCommand } from "./demo-model-command.ts";
import { jobsCommand } from "./jobs/jobs-command.ts";
import { runCommand } from "./run/run-command.ts";
import { serveCommand } from "./serve-command.ts";
import { simulateCommand } from "./simulate/simulate-command.ts";

const OUTPUT = {
  writeOut: (text: string): void => print(linesOf(text)),
  writeErr: (text: string): void => warn(linesOf(text)),
};

/**
 * Needed on subcommands, too: commander does not pass it on to commands that were created
 * separately.
 */
function throwing(command: Command): Command {
  command.exitOverride().configureOutput(OUTPUT).showHelpAfterError("(--help lists the options)");
  for (const child of command.commands) throwing(child);
  return command;
}

/** True if the reader of standard output has closed it, as `| head` does. */
function isUnread(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EPIPE";
}

function exitCodeOf(error: unknown): number {
  if (isUnread(error)) return EXIT.done;
  if (error instanceof CommandError) return error.exitCode;
  // commander throws an error with code 0 after it has printed help or the version. It has also
  // printed errors of arguments.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  return EXIT.failed;
}

/**
 * Drops Node.js's warning in each process that SQLite is experimental. Other warnings are printed.
 */
function dropSqliteWarning(): void {
  const emit = process.emitWarning;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (String(warning).startsWith("SQLite is an experimental feature")) return;
    (emit as (...all: unknown[]) => void).call(process, warning, ...rest);
  };
}

/** The version of this package. */
function version(): string {
  // This path is the same from the sources and from dist.
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return (manifest as { readonly version: string }).version;
}

async function main(): Promise<void> {
  dropSqliteWarning();
  // A write to a closed pipe also emits an error here.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const program = new Command("batchwise").description("Single requests come in, full batches go out.");
  program.version(version());
  const commands = [serveCommand(), simulateCommand(), demoModelCommand(), runCommand(), jobsCommand()];
  for (const command of commands) program.addCommand(command);
  try {
    await throwing(program).parseAsync();
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    if (error instanceof CommanderError || isUnread(error)) return;
    const isKnown = error instanceof CommandError || error instanceof BatchwiseError;
    const isBrief = isKnown || process.env.BATCHWISE_DEBUG === undefined;
    const [first = "", ...others] = isBrief ? [wordsOf(error)] : linesOf(String((error as Error).stack));
    warn([`batchwise: ${first}`, ...others]);
  }
}

await main();

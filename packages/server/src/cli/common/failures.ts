// Exit codes, and the error that ends a command. A CommandError is printed as one sentence, without
// a stack.

import { withoutSecrets } from "./secrets.ts";

export const EXIT = {
  done: 0,
  /** The command failed: a store or provider does not answer. Work done before is kept. */
  failed: 1,
  /** Wrong arguments or input, or no key: nothing was done. */
  usage: 2,
  /**
   * The command ran, and found things that need a person: outcomes without success, quarantined
   * batches, problems.
   */
  attention: 3,
  /** Stopped by Ctrl-C; 143 for SIGTERM. Nothing is lost. */
  interrupted: 130,
  terminated: 143,
} as const;

/** Its message is complete; the cause is for debugging. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.usage, cause?: unknown) {
    super(message, { cause });
    this.name = "CommandError";
    this.exitCode = exitCode;
  }
}

/**
 * The message of an error, and of its cause if that says more: "Connection error." says nothing.
 * Without secrets.
 */
export function wordsOf(error: unknown): string {
  return withoutSecrets(allWordsOf(error));
}

/** An error for several addresses has a message for each. */
function ownWordsOf(error: Error): string {
  if (error.message !== "") return error.message;
  const each: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  const words = each.map((one) => (one instanceof Error ? one.message : String(one))).filter((one) => one !== "");
  return words.length === 0 ? error.name : [...new Set(words)].join(", ");
}

function allWordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof CommandError) return error.message;
  const cause = error.cause instanceof Error ? allWordsOf(error.cause) : "";
  const message = ownWordsOf(error);
  const isSaid = cause === "" || message.includes(cause);
  return isSaid ? message : `${message.replace(/[.:]$/, "")}: ${cause}`;
}

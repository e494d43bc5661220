// Parsers of option values, whose errors say what was expected, and the options that commands
// share.

import { type Command, InvalidArgumentError, Option } from "commander";
import { withoutPassword } from "./addresses.ts";

export const DEFAULT_STORE = "sqlite:batchwise.sqlite";

export interface StoreFlags {
  readonly store: string;
  readonly json?: true;
}

/** The values of `--account`. */
const PROVIDERS = ["openai", "anthropic", "gemini", "vertex", "bedrock", "mistral", "voyage", "xai", "local"] as const;

export type ProviderName = (typeof PROVIDERS)[number];

export interface AccountFlags {
  readonly account?: ProviderName;
  readonly baseUrl?: string;
  /** For vertex and bedrock. */
  readonly bucket?: string;
  /** For bedrock. */
  readonly roleArn?: string;
  /** For local. */
  readonly concurrency?: number;
  readonly pollMs?: number;
  readonly requestTimeoutMs?: number;
  readonly reconcileGraceMs?: number;
}

export function integerFrom(minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    const range = maximum === Number.MAX_SAFE_INTEGER ? `>= ${minimum}` : `from ${minimum} to ${maximum}`;
    throw new InvalidArgumentError(`Expected an integer ${range}.`);
  };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a span such as 90s, 15m, 12h or 30d to milliseconds. */
export function span(text: string): number {
  const [, count = "", unit = ""] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  const size = UNITS[unit];
  if (size === undefined) throw new InvalidArgumentError("Expected a span such as 90s, 15m, 12h or 30d.");
  return Number(count) * size;
}

export function withStore(command: Command): Command {
  const store = process.env.BATCHWISE_STORE ?? DEFAULT_STORE;
  // The help prints the default's description, which must not contain a password.
  const option = new Option("--store <url>", "sqlite:path, postgres://… or redis://…");
  return command.addOption(option.default(store, withoutPassword(store))).option("--json", "print JSON");
}

export function withAccount(command: Command): Command {
  const positive = integerFrom(1);
  return command
    .addOption(
      new Option("--account <name>", "the provider's; unset: the one whose API key is in the environment").choices(
        PROVIDERS,
      ),
    )
    .option("--base-url <url>", "another address of the provider's API; of local: where the server is")
    .option("--bucket <url>", "of vertex and bedrock: gs:// or s3://bucket/prefix (default: $BATCHWISE_BUCKET)")
    .option("--role-arn <arn>", "of bedrock: the role of its batches (default: $BATCHWISE_ROLE_ARN)")
    .option("--concurrency <count>", "of local: most requests at once (default: 8)", positive)
    .option("--poll-ms <ms>", "first look at a batch after it was sent (default: 30000)", positive)
    .option("--request-timeout-ms <ms>", "longest call of the provider (default: 60000)", positive)
    .option("--reconcile-grace-ms <ms>", "how long a lost create is looked for (default: 300000)", positive);
}

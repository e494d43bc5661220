// What the options of an account at the command line become in the library.

import type { AccountFlags } from "../common/arguments.ts";

/** The options that every account takes, without those that were not given. */
export interface CommonOptions {
  readonly pollMs?: number;
  readonly requestTimeoutMs?: number;
  readonly reconcileGraceMs?: number;
}

export function commonOptions({ pollMs, requestTimeoutMs, reconcileGraceMs }: AccountFlags): CommonOptions {
  return {
    ...(pollMs === undefined ? {} : { pollMs }),
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    ...(reconcileGraceMs === undefined ? {} : { reconcileGraceMs }),
  };
}

/** The value of a variable; null where it is unset or blank. */
export function variable(name: string, environment: NodeJS.ProcessEnv = process.env): string | null {
  const value = environment[name]?.trim() ?? "";
  return value === "" ? null : value;
}

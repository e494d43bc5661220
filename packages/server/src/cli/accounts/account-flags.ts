// Converts the account options of the command line to options of the library.

import { addressOf, withoutPassword } from "../common/addresses.ts";
import type { AccountFlags } from "../common/arguments.ts";
import { CommandError } from "../common/failures.ts";

/** The common account options; only the given ones. */
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

/**
 * The key in a variable, trimmed; null if there is none. Throws a CommandError that does not quote
 * it.
 */
export function keyIn(name: string): string | null {
  const key = variable(name);
  if (key === null || /^[\t\x20-\x7e\x80-\xff]*$/.test(key)) return key;
  const got = "has a line break or another character that no header may have";
  throw new CommandError(`The key in ${name} ${got}: copy it again, on one line`);
}

/**
 * An address in a variable; null if there is none. Throws a CommandError for one that contains a
 * password.
 */
export function addressIn(name: string): string | null {
  const address = variable(name);
  return address === null ? null : webAddress(name, address);
}

/** The value of a variable; null if it is unset or blank. */
export function variable(name: string, environment: NodeJS.ProcessEnv = process.env): string | null {
  const value = environment[name]?.trim() ?? "";
  return value === "" ? null : value;
}

/**
 * Checks an http or https address without a user and a password, which no client may send. Throws a
 * CommandError that quotes neither. `name`: the option or variable that held it.
 */
export function webAddress(name: string, text: string): string {
  const address = addressOf(text);
  const wanted = `Expected ${name} to be an http or https address`;
  if (address !== null && (address.user !== "" || address.password !== null)) {
    throw new CommandError(`${wanted} without a user and a password, got one with them`);
  }
  if (address === null || !URL.canParse(text) || !/^https?$/.test(address.scheme)) {
    throw new CommandError(`${wanted}, got "${withoutPassword(text)}"`);
  }
  return text;
}

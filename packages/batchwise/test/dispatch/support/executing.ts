// Accounts that run lines themselves, as a test defines.

import { localAccount } from "batchwise/dispatch/local";
import type { Account, ResultLine } from "../../../src/dispatch/contract/account.ts";
import type { JsonObject } from "../../../src/dispatch/contract/types.ts";

export type Execute = NonNullable<Account["execute"]>;

export function executing(execute: Execute, changes: Partial<Account> = {}): Account {
  const made = localAccount({ handler: () => ({}), pollMs: 1_000 });
  const value: Execute = (...given) => execute(...given);
  for (const [name, own] of Object.entries({ ...changes, execute: value }))
    Object.defineProperty(made, name, { value: own });
  return made;
}

export const nameOf = (line: string): string => JSON.parse(line).custom_id;

export const answer = (line: string, statusCode: number, body: JsonObject): ResultLine => ({
  customId: nameOf(line),
  response: { statusCode, body },
  error: null,
  usage: null,
});

export const success = (line: string): ResultLine => answer(line, 200, { ok: true });

// Checks passwords. `scryptSync` blocks its thread, which is allowed here.

import { scryptSync, timingSafeEqual } from "node:crypto";

export interface Login {
  readonly password: string;
  readonly salt: string;
  /** The expected hash of the password. */
  readonly hash: Uint8Array;
}

export type Verdict = "accepted" | "refused";

const COST = 4_096;

export function hashOf(password: string, salt: string): Uint8Array {
  return scryptSync(password, salt, 32, { N: COST });
}

export default (logins: readonly Login[]): Verdict[] =>
  logins.map(({ password, salt, hash }) => (timingSafeEqual(hashOf(password, salt), hash) ? "accepted" : "refused"));

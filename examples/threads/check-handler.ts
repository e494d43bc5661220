// Checks passwords. `scryptSync` holds its thread up for as long as it takes, and this is where it
// may.

import { scryptSync, timingSafeEqual } from "node:crypto";

export interface Login {
  readonly password: string;
  readonly salt: string;
  /** What the password's hash should be. */
  readonly hash: Uint8Array;
}

export type Verdict = "accepted" | "refused";

const COST = 4_096;

export function hashOf(password: string, salt: string): Uint8Array {
  return scryptSync(password, salt, 32, { N: COST });
}

export default (logins: readonly Login[]): Verdict[] =>
  logins.map(({ password, salt, hash }) => (timingSafeEqual(hashOf(password, salt), hash) ? "accepted" : "refused"));

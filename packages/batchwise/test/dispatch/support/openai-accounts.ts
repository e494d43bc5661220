// Accounts at OpenAI through its official client, whose network a test makes up.

import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";
import type { Account } from "../../../src/dispatch/contract/account.ts";

export type Fetch = typeof globalThis.fetch;

export function clientOf(fetch: Fetch): OpenAI {
  return new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch, maxRetries: 0 });
}

export function accountOf(name: string, fetch: Fetch): Account {
  return openaiAccount({ name, client: clientOf(fetch), pollMs: 60_000 });
}

export const unreachable: Fetch = async () => {
  const cause = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });
  throw new TypeError("fetch failed", { cause });
};

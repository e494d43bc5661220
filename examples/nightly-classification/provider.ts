// Chooses the example's provider: OpenAI or Anthropic if their key is in the environment, else a
// practice provider, which answers in seconds and gets small batches, so that there are several.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import type { Account } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";

/** `folder`: where the address of the practice provider is kept; call `end` when all is done. */
export async function chooseProvider(folder: string) {
  const { OPENAI_API_KEY, ANTHROPIC_API_KEY, MODEL, PRACTICE_URL } = process.env;
  const by = (model: string, account: Account, more = {}, end = (): void => {}) => {
    const requestDefaults = { model: MODEL ?? model, temperature: 0, max_completion_tokens: 5 };
    return { options: { accounts: [account], requestDefaults, ...more }, end };
  };
  if (OPENAI_API_KEY) return by("gpt-4o-mini", openaiAccount({ client: new OpenAI() }));
  if (ANTHROPIC_API_KEY) return by("claude-haiku-4-5", anthropicAccount({ client: new Anthropic() }));
  const { url, end } = PRACTICE_URL ? { url: PRACTICE_URL, end: () => {} } : await practise(folder);
  const client = new OpenAI({ apiKey: "practice", baseURL: `${url}/v1` });
  const account = openaiAccount({ client, pollMs: 250, requestTimeoutMs: 5_000, reconcileGraceMs: 3_000 });
  return by("practice", account, { leaseMs: 6_000, thresholds: { maxRequests: 500 } }, end);
}

/** The provider that an earlier run has started, or a new one that outlives this process. */
async function practise(folder: string): Promise<{ url: string; end(): void }> {
  const file = `${folder}/practice-provider.json`;
  if (!existsSync(file)) {
    const script = fileURLToPath(new URL("practice-provider.ts", import.meta.url));
    const child = spawn(process.execPath, [script], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
    writeFileSync(file, JSON.stringify({ url: String(await once(child.stdout, "data")), pid: child.pid }));
    child.stdout.destroy();
    child.unref();
  }
  const { url, pid } = JSON.parse(readFileSync(file, "utf8")) as { readonly url: string; readonly pid: number };
  const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => null);
  if (answer !== null) return { url, end: () => process.kill(pid) && rmSync(file) };
  throw new Error(`The practice provider has ended, and its batches with it: delete ${folder} and start anew.`);
}

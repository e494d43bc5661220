// Which provider the example talks to: OpenAI or Anthropic where their key is in the environment, else one to practise with.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";

const { OPENAI_API_KEY, ANTHROPIC_API_KEY: ANTHROPIC_KEY, MODEL, PRACTICE_URL } = process.env;

/** The options that depend on the provider. The practice provider's address is in `file`. */
export async function chooseProvider(file: string) {
  const by = (model: string) => ({ requestDefaults: { model: MODEL ?? model, max_completion_tokens: 5 } });
  if (OPENAI_API_KEY) return { accounts: [openaiAccount({ client: new OpenAI() })], ...by("gpt-4o-mini") };
  if (ANTHROPIC_KEY) return { accounts: [anthropicAccount({ client: new Anthropic() })], ...by("claude-haiku-4-5") };
  const url = PRACTICE_URL ?? (await practiceProvider(file));
  const client = new OpenAI({ apiKey: "practice", baseURL: `${url}/v1` });
  // It answers in seconds: short waits, and batches so small that there are several.
  const account = openaiAccount({ client, pollMs: 250, requestTimeoutMs: 5_000, reconcileGraceMs: 3_000 });
  return { accounts: [account], ...by("practice"), thresholds: { maxRequests: 500 }, leaseMs: 6_000 };
}

/** Ends the practice provider, if there is one. */
export function endProvider(file: string): void {
  if (existsSync(file)) process.kill(JSON.parse(readFileSync(file, "utf8")).pid);
  rmSync(file, { force: true });
}

/** The one that an earlier run has started, or a new one that outlives this process. */
async function practiceProvider(file: string): Promise<string> {
  if (!existsSync(file)) {
    const script = `${import.meta.dirname}/practice-provider.ts`;
    spawn(process.execPath, ["--no-warnings", script, file], { detached: true, stdio: "ignore" }).unref();
    while (!existsSync(file)) await sleep(50);
  }
  const { url } = JSON.parse(readFileSync(file, "utf8"));
  if (await fetch(url).catch(() => null)) return url;
  throw new Error(`The practice provider has ended, and its batches with it: delete ${file.replace(/[^/]*$/, "")}`);
}

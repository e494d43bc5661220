// Which provider the example talks to: OpenAI or Anthropic where their key is in the environment, else one to practise
// with. Gives the account, and the times and sizes that suit it.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import type { DispatcherOptions } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";
import { Refusal } from "./refusal.ts";

export interface Provider {
  readonly name: string;
  readonly options: Pick<DispatcherOptions, "accounts" | "thresholds" | "requestDefaults"> & {
    readonly leaseMs?: number;
  };
  /** Called when all is done. */
  end(): void;
}

/** All lines come at once: nothing is gained by waiting two hours for more. */
const REAL = { thresholds: { maxAgeMs: 60_000 } };
/** A provider that answers in seconds: short waits, and batches so small that there are several. */
const PRACTICE_TIMES = { pollMs: 250, requestTimeoutMs: 5_000, reconcileGraceMs: 3_000 };
const PRACTICE = { leaseMs: 6_000, thresholds: { maxRequests: 500, maxAgeMs: 500 } };
const START_MS = 10_000;

/** `folder` is where the practice provider leaves its address. */
export async function chooseProvider(folder: string): Promise<Provider> {
  const { OPENAI_API_KEY, ANTHROPIC_API_KEY, MODEL, PRACTICE_URL } = process.env;
  if (OPENAI_API_KEY !== undefined) {
    const accounts = [openaiAccount({ client: new OpenAI() })];
    const requestDefaults = { model: MODEL ?? "gpt-4o-mini", temperature: 0, max_completion_tokens: 5 };
    return { name: "OpenAI", options: { accounts, requestDefaults, ...REAL }, end: () => {} };
  }
  if (ANTHROPIC_API_KEY !== undefined) {
    const accounts = [anthropicAccount({ client: new Anthropic() })];
    const requestDefaults = { model: MODEL ?? "claude-haiku-4-5", temperature: 0, max_completion_tokens: 5 };
    return { name: "Anthropic", options: { accounts, requestDefaults, ...REAL }, end: () => {} };
  }
  if (PRACTICE_URL !== undefined) return practice(PRACTICE_URL, () => {});
  const file = `${folder}/practice-provider.json`;
  const { url, pid } = await practiceProvider(file);
  return practice(url, () => {
    try {
      process.kill(pid);
    } catch {
      // It has ended by itself.
    }
    rmSync(file, { force: true });
  });
}

function practice(url: string, end: () => void): Provider {
  const client = new OpenAI({ apiKey: "practice", baseURL: `${url}/v1` });
  const accounts = [openaiAccount({ client, ...PRACTICE_TIMES })];
  const options = { accounts, requestDefaults: { model: "practice", temperature: 0 }, ...PRACTICE };
  return { name: `a practice provider at ${url}`, options, end };
}

interface Address {
  readonly url: string;
  readonly pid: number;
}

/** The one that an earlier run has started, or a new one that outlives this process. */
async function practiceProvider(file: string): Promise<Address> {
  const running = addressIn(file);
  if (running !== null) {
    if (await answers(running)) return running;
    throw new Refusal(
      `The practice provider has ended, and its batches with it: delete ${dirname(file)} and start anew.`,
    );
  }
  const script = fileURLToPath(new URL("practice-provider.ts", import.meta.url));
  spawn(process.execPath, ["--no-warnings", script, file], { detached: true, stdio: "ignore" }).unref();
  for (const until = Date.now() + START_MS; Date.now() < until; await sleep(50)) {
    const started = addressIn(file);
    if (started !== null) return started;
  }
  throw new Refusal("The practice provider did not start.");
}

function addressIn(file: string): Address | null {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Address) : null;
}

async function answers({ url }: Address): Promise<boolean> {
  const headers = { authorization: "Bearer practice" };
  const list = fetch(`${url}/v1/batches`, { headers, signal: AbortSignal.timeout(1_000) });
  return await list.then(
    ({ ok }) => ok,
    () => false,
  );
}

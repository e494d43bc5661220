// Two hundred agents decide about returned parcels. Each turn of an agent is one call, and the
// turns of all agents share batches: three batches for three turns, instead of six hundred calls.
// Run it again after a crash, and no turn is paid for twice.

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, tool } from "ai";
import { batchFetch, createDispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import OpenAI from "openai";
import { z } from "zod";
import { startPractice } from "./practice-model.ts";
import { orderOf, policyOf } from "./shop.ts";

const AGENTS = Number(process.env.AGENTS ?? 200);
const { OPENAI_API_KEY: apiKey, PRACTICE_URL } = process.env;

/**
 * Without a key, uses a practice provider. A store in memory is lost together with that provider's
 * batches.
 */
const practice = apiKey === undefined && PRACTICE_URL === undefined ? await startPractice() : null;
const url = practice?.url ?? PRACTICE_URL;
const client = url === undefined ? new OpenAI() : new OpenAI({ apiKey: "practice", baseURL: `${url}/v1` });
const isPractice = url !== undefined;

const store = sqliteStore({ path: process.env.STORE ?? (isPractice ? ":memory:" : "agents.sqlite") });
const dispatcher = createDispatcher({
  store,
  accounts: [
    openaiAccount({ client, ...(isPractice ? { pollMs: 200, requestTimeoutMs: 1_500, reconcileGraceMs: 500 } : {}) }),
  ],
  ...(isPractice ? { leaseMs: 2_000 } : {}),
});
await dispatcher.start();

const answered = { calls: 0 };
const fetch = batchFetch(dispatcher, {
  ...(isPractice ? { flushAfterMs: 300 } : {}),
  onPending: ({ state }) => {
    if (state === "ended") answered.calls += 1;
  },
});
const model = createOpenAI({ apiKey: "caller", fetch }).chat(process.env.MODEL ?? "gpt-5-mini");

// A tool must give the same answer for the same input: a clock or random number in it would make
// each run's calls new requests.
const tools = {
  order: tool({
    description: "The parcel of an order.",
    inputSchema: z.object({ id: z.string() }),
    execute: async ({ id }) => orderOf(id),
  }),
  policy: tool({
    description: "Whether a kind of article may be returned.",
    inputSchema: z.object({ kind: z.string() }),
    execute: async ({ kind }) => policyOf(kind),
  }),
};

async function decide(id: string): Promise<string> {
  const prompt = `Order ${id} came back. Look it up, read the policy for its kind, and answer "refund" or "reject".`;
  const { text } = await generateText({ model, tools, prompt, stopWhen: stepCountIs(5), maxRetries: 0 });
  return text;
}

const ids = Array.from({ length: AGENTS }, (_, index) => `A-${1_000 + index}`);
const decisions = await Promise.all(ids.map(decide));
const refunds = decisions.filter((text) => text.includes("refund")).length;
const batches = await dispatcher.batches();
console.log(`${AGENTS} agents: ${refunds} refunds, ${AGENTS - refunds} rejected`);
console.log(`${answered.calls} calls in ${batches.length} batches`);
await dispatcher.stop();
await store.close();
await practice?.end();

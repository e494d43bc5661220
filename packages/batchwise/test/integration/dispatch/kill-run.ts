// One process's part in the kill matrix: opens the store, enqueues, dispatches until nothing is left, and tells what the
// log holds. The process that dies does it in a child; the one that goes on may be the test's own.

import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { Store } from "../../../src/dispatch/contract/store.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { anthropicAccount } from "../../../src/dispatch/providers/anthropic/index.ts";
import { geminiAccount } from "../../../src/dispatch/providers/gemini/index.ts";
import { mistralAccount } from "../../../src/dispatch/providers/mistral/index.ts";
import { openaiAccount } from "../../../src/dispatch/providers/openai/index.ts";
import { openStore, type Place } from "./open-store.ts";

export type Service = "openai" | "azure" | "groq" | "together" | "anthropic" | "gemini" | "mistral";

export interface KillWork {
  readonly place: Place;
  readonly service: Service;
  /** Where the fake listens. */
  readonly url: string;
  readonly requests: number;
  /** How long a lease lasts: what others wait for after a death. Calls may take a little less. */
  readonly leaseMs: number;
}

export interface KillReport {
  readonly outcomes: number;
  readonly ids: number;
  readonly succeeded: number;
  readonly batches: readonly string[];
}

const CALL_MARGIN_MS = 200;
const LOOK_MS = 50;
const SENT_AFTER_MS = 150;

/** Over the client, and below the path, that users of the service have. */
async function accountOf({ service, url, leaseMs }: KillWork): Promise<Account> {
  const times = { requestTimeoutMs: leaseMs - CALL_MARGIN_MS, reconcileGraceMs: 1_500, pollMs: 100 };
  if (service === "anthropic") {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    return anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: url }), ...times });
  }
  if (service === "gemini") {
    const { GoogleGenAI } = await import("@google/genai");
    const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: url } });
    return geminiAccount({ client, maxInlineBytes: 0, ...times });
  }
  if (service === "mistral") {
    const { Mistral } = await import("@mistralai/mistralai");
    return mistralAccount({ client: new Mistral({ apiKey: "key", serverURL: url }), ...times });
  }
  const { AzureOpenAI, OpenAI } = await import("openai");
  if (service === "azure") {
    const client = new AzureOpenAI({ apiKey: "key", apiVersion: "2025-03-01-preview", endpoint: url });
    return openaiAccount({ client, service, ...times });
  }
  const baseURL = service === "groq" ? `${url}/openai/v1` : `${url}/v1`;
  return openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL }), service, ...times });
}

/** The provider answers creates late, so that this one is on its way, and accepted, when the process dies. */
function tellingWhenSent(account: Account, failpoint: (name: string) => void): Account {
  const create = account.create.bind(account);
  const value: Account["create"] = (input, call) => {
    setTimeout(() => failpoint("create-sent"), SENT_AFTER_MS);
    return create(input, call);
  };
  return Object.defineProperty(account, "create", { value });
}

/** Nothing waits, nothing is to be delivered, and the batches have been marked as done. */
async function isAtRest(store: Store): Promise<boolean> {
  const { batches, lanes, deliveriesWaiting } = await store.probe(1, Date.now());
  const open = Object.entries(batches).filter(([state, count]) => state !== "done" && count > 0);
  return open.length === 0 && lanes.length === 0 && deliveriesWaiting === 0;
}

async function report(store: Store): Promise<KillReport> {
  const rows = await store.outcomes({ after: 0, limit: 1_000_000 });
  const batches = await store.batches({ limit: 1_000 });
  return {
    outcomes: rows.length,
    ids: new Set(rows.map(({ id }) => id)).size,
    succeeded: rows.filter(({ status }) => status === "succeeded").length,
    batches: batches.map(({ state }) => state),
  };
}

/** `failpoint` is told of each named point that is passed. */
export async function dispatchAll(work: KillWork, failpoint: (name: string) => void): Promise<KillReport> {
  const { store, end } = await openStore(work.place);
  const dispatcher = createDispatcher({
    store,
    accounts: [tellingWhenSent(await accountOf(work), failpoint)],
    leaseMs: work.leaseMs,
    thresholds: { maxRequests: work.requests, maxAgeMs: 5_000 },
    onOutcome: () => {},
    failpoint,
  });
  await dispatcher.start();
  const messages = (content: string) => [{ role: "user", content }];
  await dispatcher.enqueueMany(
    Array.from({ length: work.requests }, (_, n) => ({
      id: `r${n}`,
      body: { model: "m", max_tokens: 9, messages: messages(`Say ${n}.`) },
    })),
  );
  while (!(await isAtRest(store))) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  await dispatcher.stop();
  const seen = await report(store);
  await store.close();
  await end();
  return seen;
}

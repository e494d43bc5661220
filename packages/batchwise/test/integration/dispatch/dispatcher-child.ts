// A dispatcher in a process of its own, for tests that kill it. Run as
// `node dispatcher-child.ts <json of ChildWork>`: enqueues, dispatches until nothing is left, and prints what the log
// holds. Where a failpoint is named it dies by SIGKILL there, and prints nothing.

import { writeSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { anthropicAccount } from "../../../src/dispatch/anthropic/index.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { openaiAccount } from "../../../src/dispatch/openai/index.ts";
import type { Account } from "../../../src/dispatch/provider.ts";
import type { Store } from "../../../src/dispatch/store.ts";
import { openStore, type Place } from "./open-store.ts";

export interface ChildWork {
  readonly place: Place;
  readonly provider: "openai" | "anthropic";
  readonly url: string;
  readonly requests: number;
  /** Dies when this point is reached for the nth time. */
  readonly dieAt: string | null;
  readonly dieAtCount: number;
}

export interface ChildReport {
  readonly outcomes: number;
  readonly ids: number;
  readonly succeeded: number;
  readonly batches: readonly string[];
}

const TIMES = { requestTimeoutMs: 2_800, reconcileGraceMs: 1_500, pollMs: 100 };
const LEASE_MS = 3_000;
const LOOK_MS = 25;
const SENT_AFTER_MS = 150;

const work = JSON.parse(process.argv[2] ?? "") as ChildWork;
let reached = 0;

function failpoint(name: string): void {
  if (name !== work.dieAt) return;
  reached += 1;
  if (reached === work.dieAtCount) process.kill(process.pid, "SIGKILL");
}

function accountOf(): Account {
  const { provider, url } = work;
  if (provider === "anthropic") {
    return anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: url }), ...TIMES });
  }
  return openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: `${url}/v1` }), ...TIMES });
}

/** The provider answers creates late, so that this one is on its way, and accepted, when the process dies. */
function dyingWhenSent(account: Account): Account {
  const create = account.create.bind(account);
  const value: Account["create"] = (input, call) => {
    setTimeout(() => failpoint("create-sent"), SENT_AFTER_MS);
    return create(input, call);
  };
  return Object.defineProperty(account, "create", { value });
}

async function isAtRest(store: Store): Promise<boolean> {
  const probe = await store.probe(1, Date.now());
  return probe.inBatches === 0 && probe.lanes.length === 0 && probe.deliveriesWaiting === 0;
}

async function report(store: Store): Promise<ChildReport> {
  const rows = await store.outcomes({ after: 0, limit: 1_000_000 });
  const batches = await store.batches({ limit: 1_000 });
  return {
    outcomes: rows.length,
    ids: new Set(rows.map(({ id }) => id)).size,
    succeeded: rows.filter(({ status }) => status === "succeeded").length,
    batches: batches.map(({ state }) => state),
  };
}

const { store, end } = openStore(work.place);
const dispatcher = createDispatcher({
  store,
  accounts: [dyingWhenSent(accountOf())],
  leaseMs: LEASE_MS,
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
writeSync(1, JSON.stringify(await report(store)));
await store.close();
await end();

// A busy process in a failover: it enqueues without a pause, tries again what is refused as
// retryable, and dispatches. Run as `node failover-child.ts <json of FailoverWork>`. Says a line of
// JSON for each request that was acknowledged and for each error that was reported. When its
// standard input ends it stops, in order, and ends.

import { once } from "node:events";
import OpenAI from "openai";
import type pg from "pg";
import { createDispatcher } from "../src/dispatch/dispatcher.ts";
import { openaiAccount } from "../src/dispatch/providers/openai/index.ts";
import { openStore } from "../test/integration/dispatch/stores/open-store.ts";

export interface FailoverWork {
  readonly name: string;
  readonly config: pg.PoolConfig;
  /** Of the provider. */
  readonly url: string;
}

export type Said = { readonly acknowledged: string } | { readonly reported: string } | { readonly gaveUp: string };

const { name, config, url } = JSON.parse(process.argv[2] ?? "") as FailoverWork;
const say = (line: Said): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const { store, end } = await openStore({ kind: "postgres", config });
const client = new OpenAI({ apiKey: "key", baseURL: url });
const dispatcher = createDispatcher({
  store,
  accounts: [openaiAccount({ client, pollMs: 100, requestTimeoutMs: 5_000 })],
  leaseMs: 15_000,
  thresholds: { maxRequests: 200, maxAgeMs: 500 },
  onError: (error) => say({ reported: String((error as { code?: unknown }).code) }),
});
await dispatcher.start();
let isOver = false;
const over = once(process.stdin.resume(), "end").then(() => {
  isOver = true;
});
for (let n = 0; !isOver; ) {
  const id = `${name}-${n}`;
  try {
    await dispatcher.enqueue({ id, body: { model: "m", messages: [{ role: "user", content: id }] } });
    say({ acknowledged: id });
    n += 1;
  } catch (error) {
    if ((error as { retryable?: unknown }).retryable !== true) {
      say({ gaveUp: String(error) });
      break;
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 10));
}
await over;
await dispatcher.stop();
await store.close();
await end();
process.exit();

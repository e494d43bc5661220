// One of a fleet on one store, in a process of its own. Run as
// `node fleet-child.ts <json of FleetWork>`. A producer enqueues its requests and ends. A
// dispatcher runs until nothing is left of all of them.

import { once } from "node:events";
import OpenAI from "openai";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { openaiAccount } from "../../../../src/dispatch/providers/openai/index.ts";
import { openStore, type Place } from "../stores/open-store.ts";

export interface FleetWork {
  readonly role: "producer" | "dispatcher";
  readonly name: string;
  readonly place: Place;
  readonly url: string;
  /**
   * Of a producer: how many it enqueues. Of a dispatcher: how many outcomes all of them wait for.
   */
  readonly requests: number;
  /** Of a producer: length of each message; what it says at the least. */
  readonly textLength: number;
}

const LOOK_MS = 50;
const CALL = 250;
const LEASE_MS = 20_000;

const work = JSON.parse(process.argv[2] ?? "") as FleetWork;
// Ends with the process that has started it, however that ends.
process.stdin.once("end", () => process.exit(1));
const { store, end } = await openStore(work.place);
const client = new OpenAI({ apiKey: "key", baseURL: `${work.url}/v1` });
const account = openaiAccount({ client, pollMs: 100, requestTimeoutMs: LEASE_MS / 2 });
const dispatcher = createDispatcher({
  store,
  accounts: [account],
  // No process knows of a lease whose answer was cut off, so it lasts until it expires.
  leaseMs: LEASE_MS,
  thresholds: { maxRequests: 500, maxAgeMs: 500 },
});

/** A cut connection leaves open whether the call was stored: the same ids again are safe. */
async function enqueueSome(first: number): Promise<void> {
  const text = (n: number): string => `Say ${work.name} ${n}.`.padEnd(work.textLength, " word");
  const some = Array.from({ length: Math.min(CALL, work.requests - first) }, (_, n) => ({
    id: `${work.name}-${first + n}`,
    body: { model: "m", max_tokens: 9, messages: [{ role: "user", content: text(first + n) }] },
  }));
  for (let tries = 1; ; tries += 1) {
    try {
      await dispatcher.enqueueMany(some);
      return;
    } catch (error) {
      if (tries === 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}

async function isDone(all: Store): Promise<boolean> {
  const probe = await all.probe(1, Date.now()).catch(() => null);
  return probe !== null && probe.cursor >= work.requests && probe.inBatches === 0;
}

// Loaded, and not connected yet: the work begins in all of them together, at the word of that
// process.
process.stdout.write("ready\n");
await once(process.stdin, "data");
if (work.role === "producer") {
  for (let first = 0; first < work.requests; first += CALL) await enqueueSome(first);
} else {
  await dispatcher.start();
  while (!(await isDone(store))) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
await dispatcher.stop();
await store.close();
await end();
process.stdin.destroy();

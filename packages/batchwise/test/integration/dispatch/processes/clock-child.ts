// A dispatcher that runs requests itself, in a process whose clock may be wrong. Run as
// `node clock-child.ts <json of ClockWork>`. Prints a line of JSON for each request that it runs
// and each error it reports.

import { setTimeout as sleep } from "node:timers/promises";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { localAccount } from "../../../../src/dispatch/providers/local/index.ts";
import { openStore, type Place } from "../stores/open-store.ts";

export interface ClockWork {
  readonly name: string;
  readonly place: Place;
  /** Requests to enqueue. */
  readonly requests: number;
  readonly runMs: number;
}

export type ClockLine = { readonly ran: string } | { readonly code: string } | { readonly lost: string };

const work = JSON.parse(process.argv[2] ?? "") as ClockWork;
const { store, end } = await openStore(work.place);
const print = (line: ClockLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const account = localAccount({
  name: "here",
  concurrency: 1,
  handler: async ({ input }) => {
    await sleep(work.runMs);
    print({ ran: String(input) });
    return { data: [{ embedding: [1] }] };
  },
});
const dispatcher = createDispatcher({
  store,
  accounts: [account],
  thresholds: { maxRequests: 10, maxAgeMs: 200 },
  onError: (error) => print({ code: String((error as { readonly code?: unknown }).code) }),
});
dispatcher.on("leaseLost", ({ batch }) => print({ lost: batch }));
await dispatcher.start();
const ids = Array.from({ length: work.requests }, (_, n) => `${work.name}${n}`);
await dispatcher.enqueueMany(ids.map((id) => ({ id, endpoint: "/v1/embeddings", body: { model: "m", input: id } })));
process.stdin.resume().once("end", async () => {
  await dispatcher.stop();
  await store.close();
  await end();
});

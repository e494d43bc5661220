// A dispatcher of a backlog, in a process of its own, with the default thresholds. Run as
// `node backlog-child.ts <json of BacklogWork>`; it ends when its standard input does, or by a
// signal.

import OpenAI from "openai";
import { createDispatcher } from "../src/dispatch/dispatcher.ts";
import { openaiAccount } from "../src/dispatch/providers/openai/index.ts";
import { openStore, type Place } from "../test/integration/dispatch/stores/open-store.ts";

export interface BacklogWork {
  readonly place: Place;
  /** Of the provider. */
  readonly url: string;
  readonly leaseMs: number;
}

const { place, url, leaseMs } = JSON.parse(process.argv[2] ?? "") as BacklogWork;
const { store, end } = await openStore(place);
const client = new OpenAI({ apiKey: "key", baseURL: `${url}/v1`, maxRetries: 0 });
const accounts = [openaiAccount({ client, pollMs: 100, requestTimeoutMs: leaseMs / 2 })];
const onError = (error: unknown): void => void process.stderr.write(`${String(error)}\n`);
const dispatcher = createDispatcher({ store, accounts, leaseMs, onError });
await dispatcher.start();
dispatcher.flush();
process.stdout.write("ready\n");
process.stdin.resume().once("end", async () => {
  await dispatcher.stop();
  await store.close();
  await end();
  process.exit();
});

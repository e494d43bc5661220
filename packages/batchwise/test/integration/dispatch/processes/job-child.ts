// One run of a job in a process of its own, for tests that kill it. Run as
// `node job-child.ts <json of JobWork>`; tells on its output the id of each outcome that it is
// given, a line each, and at last "end".

import { writeSync } from "node:fs";
import OpenAI from "openai";
import { openaiAccount } from "../../../../src/dispatch/providers/openai/index.ts";
import { runBatch } from "../../../../src/dispatch/run-batch.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";

export interface JobWork {
  readonly path: string;
  /** Where the fake listens. */
  readonly url: string;
  readonly requests: number;
}

const LEASE_MS = 2_000;

const { path, url, requests: count } = JSON.parse(process.argv[2] ?? "") as JobWork;

async function* requests(): AsyncGenerator<{ body: { model: string; messages: { role: string; content: string }[] } }> {
  for (let n = 0; n < count; n += 1) yield { body: { model: "m", messages: [{ role: "user", content: `Say ${n}.` }] } };
}

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
const client = new OpenAI({ apiKey: "key", baseURL: `${url}/v1` });
const store = sqliteStore({ path });
const job = runBatch({
  store,
  accounts: [openaiAccount({ client, requestTimeoutMs: LEASE_MS - 200, reconcileGraceMs: 1_000, pollMs: 50 })],
  leaseMs: LEASE_MS,
  thresholds: { maxRequests: 500 },
  job: "night",
  requests: requests(),
  signal: stop.signal,
});
try {
  // Synchronous, so that a kill loses no line that was written.
  for await (const { id } of job) writeSync(1, `${id}\n`);
  writeSync(1, "end\n");
} catch (error) {
  if (!stop.signal.aborted) throw error;
  writeSync(1, "stopped\n");
}
await store.close();

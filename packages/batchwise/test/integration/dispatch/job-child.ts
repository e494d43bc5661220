// A run of a job in a process of its own, on a SQLite file, through the official client. Run as
// `node job-child.ts <json of JobWork>`; prints `enqueued <n>` as it goes on, and each outcome as a line `<index> <status>`.

import { writeSync } from "node:fs";
import OpenAI from "openai";
import { openaiAccount } from "../../../src/dispatch/providers/openai/index.ts";
import { runBatch } from "../../../src/dispatch/run-batch.ts";
import { sqliteStore } from "../../../src/dispatch/stores/sqlite/index.ts";

export interface JobWork {
  readonly path: string;
  readonly url: string;
  readonly count: number;
  /** Between two thousand requests of the source. */
  readonly pauseMs: number;
}

const { path, url, count, pauseMs } = JSON.parse(process.argv[2] ?? "") as JobWork;

async function* requests() {
  for (let n = 0; n < count; n += 1) {
    if (n % 1_000 === 999) await new Promise<void>((resolve) => void setTimeout(resolve, pauseMs));
    yield { body: { messages: [{ role: "user", content: `Say ${n}.` }] } };
  }
}

/** At once and for good: what was told before a kill has been told. */
function tell(line: string): void {
  writeSync(1, `${line}\n`);
}

const store = sqliteStore({ path });
const client = new OpenAI({ apiKey: "key", baseURL: `${url}/v1`, maxRetries: 0 });
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const outcomes = runBatch({
  store,
  accounts: [openaiAccount({ client, pollMs: 100, requestTimeoutMs: 2_000, reconcileGraceMs: 1_000 })],
  thresholds: { maxRequests: 500 },
  requestDefaults: { model: "m" },
  leaseMs: 3_000,
  job: "night",
  requests: requests(),
  signal: stop.signal,
  onProgress: ({ enqueued }) => tell(`enqueued ${enqueued}`),
});
try {
  for await (const { index, status } of outcomes) tell(`${index} ${status}`);
} catch (error) {
  if (error !== stop.signal.reason) throw error;
  process.exitCode = 3;
}
await store.close();

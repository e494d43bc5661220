// Four threads of synchronous code check passwords, one call at a time. Their calls share batches
// in this thread, which runs them in two more threads and is free for other work meanwhile.

import { Worker } from "node:worker_threads";
import { batch } from "batchwise";
import { shareBatcher, threadHandler } from "batchwise/threads";
import type { Summary } from "./caller.ts";
import type { Login, Verdict } from "./check-handler.ts";

const CALLERS = 4;
const LOGINS = 40;

// The handler: the default export of a module, loaded once in each of two threads.
const handler = threadHandler<Login, Verdict>(new URL("./check-handler.ts", import.meta.url), { workers: 2 });
const check = batch(handler, { maxBatchSize: 8, maxWaitMs: 5, preferredBatchSize: 2 });
await check.open();

// The callers: threads that block until each answer.
const shared = shareBatcher(check);
const callers = Array.from({ length: CALLERS }, (_, number) => {
  const port = shared.port();
  const workerData = { port, number, logins: LOGINS };
  return new Worker(new URL("./caller.ts", import.meta.url), { workerData, transferList: [port] });
});

let ticks = 0;
const timer = setInterval(() => {
  ticks += 1;
}, 5);
const summaries = await Promise.all(
  callers.map(
    (caller) => new Promise<Summary>((resolve, reject) => caller.once("message", resolve).once("error", reject)),
  ),
);
clearInterval(timer);

for (const { number, accepted, refused } of summaries) {
  process.stdout.write(`caller ${number}: ${accepted} accepted, ${refused} refused\n`);
}
const { completed, averageBatchSize, runMs } = check.stats();
process.stdout.write(
  `${completed} checks in batches of ${averageBatchSize.toFixed(1)}, ${runMs.p50.toFixed(0)} ms each\n`,
);
process.stdout.write(`this thread was free: ${ticks > 0 ? "yes" : "no"}\n`);
await check.close();

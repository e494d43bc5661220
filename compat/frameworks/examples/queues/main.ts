// A thousand mails, each a durable job, sent in a few requests. `node main.ts bullmq`, or pg-boss,
// or graphile-worker.

import { mailBatcher } from "./mail-batcher.ts";
import { openQueue } from "./open-queue.ts";
import { startMailService } from "./practice-mail-service.ts";

const MAILS = 1_000;
/** Two full batches that run, and one that fills. */
const JOBS = 600;

const service = await startMailService(50);
const queue = await openQueue(process.argv[2]);
const batcher = mailBatcher(service.url);

// One in a hundred has a receiver that does not exist: only its job fails.
const receivers = Array.from({ length: MAILS }, (_, n) => `${n % 100 === 7 ? "nobody" : "reader"}@${n}.example`);
await queue.add(receivers.map((to) => ({ to, text: "The news of the month." })));

const work = await queue.work(batcher, JOBS);
while ((await queue.counts()).open > 0) await new Promise((resolve) => setTimeout(resolve, 50));
await work.stop();
const { failed } = await queue.counts();
const { batches, completed } = batcher.stats();
process.stdout.write(`${MAILS} jobs: ${completed} sent, ${failed} failed, in ${batches} requests\n`);

await batcher.close();
await queue.close();
await service.close();

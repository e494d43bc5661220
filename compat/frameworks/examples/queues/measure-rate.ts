// Measures the jobs per second of one worker process. `node measure-rate.ts bullmq`, or pg-boss, or
// graphile-worker, followed by the number of jobs.

import { mailBatcher } from "./mail-batcher.ts";
import { openQueue } from "./open-queue.ts";
import { startMailService } from "./practice-mail-service.ts";

const JOBS = 600;
const CALL = 5_000;

const [name, given = "50000"] = process.argv.slice(2);
const mails = Array.from({ length: Number(given) }, (_, n) => ({ to: `reader@${n}.example`, text: "The news." }));
const service = await startMailService(5);
const queue = await openQueue(name);
for (let from = 0; from < mails.length; from += CALL) await queue.add(mails.slice(from, from + CALL));

const batcher = mailBatcher(service.url);
const [startedAt, before] = [performance.now(), process.cpuUsage()];
const work = await queue.work(batcher, JOBS);
while ((await queue.counts()).open > 0) await new Promise((resolve) => setTimeout(resolve, 50));
const seconds = (performance.now() - startedAt) / 1_000;
const { user, system } = process.cpuUsage(before);
await work.stop();

const { batches, averageBatchSize } = batcher.stats();
const rate = Math.round(mails.length / seconds).toLocaleString("en");
process.stdout.write(`${name}: ${rate} jobs a second, ${averageBatchSize.toFixed(0)} a request, ${batches} requests, `);
process.stdout.write(
  `${((user + system) / 1_000 / mails.length).toFixed(3)} ms of processor time a job in this process\n`,
);
await batcher.close();
await queue.close();
await service.close();

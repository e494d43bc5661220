// A worker of a durable queue in its own process, to be killed. Run as
// `node queue-child.ts <json of QueueWork>`.

import { mailBatcher } from "../../examples/queues/mail-batcher.ts";
import { openMailQueue, type QueuePlace } from "./open-mail-queue.ts";

export interface QueueWork {
  readonly place: QueuePlace;
  /** Address of the mail service. */
  readonly url: string;
  readonly jobs: number;
}

const { place, url, jobs } = JSON.parse(process.argv[2] ?? "") as QueueWork;
const queue = await openMailQueue(place);
await queue.work(mailBatcher(url), jobs);

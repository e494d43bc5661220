/**
 * Blocking calls from worker threads: each thread waits for its answer before it sends the next
 * item. For comparison the minimum: postMessage in both directions with Atomics.wait in between,
 * without batching.
 */
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { type BatchOptions, createBatcher } from "batchwise";
import { shareBatcher } from "batchwise/threads";
import type { Measurement } from "../harness/child.ts";
import { quantile } from "../harness/numbers.ts";
import type { NamedWorkload } from "../harness/workloads.ts";
import type { CallerData, CallerReport } from "./blocking-caller.ts";

interface Host {
  connect(): Pick<CallerData, "port" | "cell" | "callSize">;
  /** Mean items per batch. */
  meanBatch(): number;
}

function bare(): Host {
  return {
    connect() {
      const { port1, port2 } = new MessageChannel();
      const cell = new Int32Array(new SharedArrayBuffer(4));
      port1.on("message", ({ id, text }: { readonly id: number; readonly text: string }) => {
        port1.postMessage({ id, value: text.length });
        Atomics.add(cell, 0, 1);
        Atomics.notify(cell, 0);
      });
      return { port: port2, cell, callSize: 1 };
    },
    meanBatch: () => 1,
  };
}

function ours(callSize: number, options: BatchOptions<string, number> = {}): Host {
  const batcher = createBatcher((texts: string[]) => texts.map((text) => text.length), options);
  const shared = shareBatcher(batcher);
  return {
    connect: () => ({ port: shared.port(), cell: undefined, callSize }),
    meanBatch: () => batcher.stats().averageBatchSize,
  };
}

const hosts: Readonly<Record<string, () => Host>> = {
  "bare-messages": bare,
  "batchwise-sync": () => ours(1),
  "batchwise-sync-turn": () => ours(1, { gather: "turn" }),
  "batchwise-many-sync": () => ours(32),
};

const SETTINGS = { workers: 1, calls: 20_000, warmups: 5_000 };

export const blockingThreads: NamedWorkload<typeof SETTINGS> = {
  defaults: SETTINGS,
  async measure(contender, settings): Promise<Measurement> {
    const host = hosts[contender]?.();
    if (host === undefined) throw new RangeError(`Expected one of ${Object.keys(hosts).join(", ")}, got ${contender}`);
    const callSize = host.connect().callSize;
    const workers = Array.from({ length: settings.workers }, () => start(host, settings));
    await Promise.all(workers.map(nextMessage));
    const reports = Promise.all(workers.map(nextMessage)) as Promise<CallerReport[]>;
    for (const worker of workers) worker.postMessage("go");
    return figuresOf(await reports, callSize, host.meanBatch());
  },
};

function start(host: Host, { calls, warmups }: typeof SETTINGS): Worker {
  const connection = host.connect();
  const workerData: CallerData = { ...connection, calls, warmups };
  const transferList: MessagePort[] = [connection.port];
  return new Worker(new URL("./blocking-caller.ts", import.meta.url), { workerData, transferList });
}

function nextMessage(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

function figuresOf(reports: readonly CallerReport[], callSize: number, meanBatch: number): Measurement {
  const tookUs = reports.flatMap((report) => Array.from(report.tookUs));
  const startedAt = Math.min(...reports.map((report) => report.startedAt));
  const endedAt = Math.max(...reports.map((report) => report.endedAt));
  const perSecond = (tookUs.length * callSize * 1_000) / (endedAt - startedAt);
  const meanUs = tookUs.reduce((sum, value) => sum + value, 0) / tookUs.length;
  return { perSecond, meanUs, p50Us: quantile(tookUs, 0.5), p99Us: quantile(tookUs, 0.99), meanBatch };
}

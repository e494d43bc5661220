/** The cost of a blocking submit from a worker thread, compared with plain messages and Atomics. */
import { medianOf, type Progress, type Results, ratioOf, runInterleaved } from "../harness/rounds.ts";
import { type Claim, figure, ratio, type Scale, type Section } from "../report/section.ts";

const titles: Readonly<Record<string, string>> = {
  "bare-messages": "postMessage and Atomics.wait, no batching",
  "batchwise-sync-turn": '**`submitSync`**, gather "turn"',
  "batchwise-sync": "**`submitSync`**, default options",
  "batchwise-many-sync": "`submitManySync`, 32 items a call",
};
const contenders = Object.keys(titles);
const BASE = "bare-messages";
const WORKERS = [1, 4];

function claimsOf(results: Results, workers: number): Claim[] {
  return ["batchwise-sync-turn", "batchwise-sync"].map((contender) => ({
    text: `threads: ${titles[contender]}, mean round trip, ${workers} blocked at once`,
    measured: ratioOf(results, contender, BASE, "meanUs"),
    sense: "at most",
    limit: 2,
    unit: "x",
  }));
}

function rowsOf(results: Results, workers: number): string[][] {
  return contenders.map((contender) => [
    titles[contender] as string,
    String(workers),
    figure(medianOf(results, contender, "meanUs")),
    ratio(ratioOf(results, contender, BASE, "meanUs")),
    figure(medianOf(results, contender, "p50Us")),
    figure(medianOf(results, contender, "p99Us")),
    figure(medianOf(results, contender, "perSecond")),
    figure(medianOf(results, contender, "meanBatch")),
  ]);
}

export async function threads({ rounds, skip }: Scale, progress: Progress): Promise<Section> {
  const plans = WORKERS.map((workers) => ({ workload: "threads", contenders, rounds, settings: { workers }, skip }));
  const results = await runInterleaved(plans, progress);
  const each = WORKERS.map((workers, at) => ({ workers, of: results[at] as Results }));
  return {
    title: "Blocking submits from worker threads",
    about: [
      "Each thread blocks for the answer to one text of 160 characters (its length) before it sends the next. The first row",
      "is the least that this can take: a message, Atomics.wait, a message back, each answered at once and by itself. The",
      "handler is synchronous and does nothing, so a batch saves nothing here; by default a batch of",
      "several threads then waits to the end of the event loop's pass, and threads that were answered",
      "together ask together.",
    ],
    tables: [
      {
        head: ["contender", "threads", "mean µs", "÷ bare", "p50 µs", "p99 µs", "items/s", "mean batch"],
        rows: each.flatMap(({ workers, of }) => rowsOf(of, workers)),
      },
    ],
    claims: each.flatMap(({ workers, of }) => claimsOf(of, workers)),
  };
}

/**
 * The gain of gathering for a synchronous handler behind HTTP: SQLite inserts, one transaction per
 * batch.
 */
import { medianOf, type Progress, type Results, ratioOf, runRounds } from "../harness/rounds.ts";
import { type Claim, figure, ratio, type Scale, type Section } from "../report/section.ts";

const titles: Readonly<Record<string, string>> = {
  unbatched: "no batching, a transaction a request",
  "hand-written": "hand-written, `setImmediate` after the first row",
  "batchwise-plain": '**batchwise**, defaults (gather "auto")',
  "batchwise-turn": 'batchwise, gather "turn"',
  "batchwise-waits": "batchwise, handler that waits for one `setImmediate`",
};
const contenders = Object.keys(titles);
const ours = "batchwise-plain";
const rate = "perSecond";

function claimsOf(results: Results): Claim[] {
  const atLeast = (base: string, text: string, limit: number): Claim => ({
    text: `gather: **batchwise**, requests a second, against ${text}`,
    measured: ratioOf(results, ours, base, rate),
    sense: "at least",
    limit,
    unit: "x",
  });
  return [
    atLeast("unbatched", "no batching", 4),
    atLeast("batchwise-waits", "a handler that waits for one `setImmediate`", 0.9),
  ];
}

export async function gather({ rounds, skip }: Scale, progress: Progress): Promise<Section> {
  const results = await runRounds({ workload: "gather", contenders, rounds, settings: {}, skip }, progress);
  const row = (contender: string): string[] => [
    titles[contender] as string,
    figure(medianOf(results, contender, rate)),
    ratio(ratioOf(results, contender, "unbatched", rate)),
    ratio(ratioOf(results, contender, "batchwise-waits", rate)),
    figure(medianOf(results, contender, "meanBatch")),
    figure(medianOf(results, contender, "p50Ms")),
    figure(medianOf(results, contender, "p99Ms")),
  ];
  return {
    title: "A synchronous handler behind HTTP",
    about: [
      "SQLite inserts (WAL, synchronous FULL, one transaction a batch) behind node:http. 64 clients in another process",
      "each keep one connection open and post the next row when the last one is answered. The handler is synchronous, but",
      "for the one that waits. batchwise has its default options (at most 32 items in a batch); the hand-written code has",
      "no cap. The figures depend on the disk.",
    ],
    tables: [
      {
        head: ["contender", "requests/s", "÷ no batching", "÷ the one that waits", "mean batch", "p50 ms", "p99 ms"],
        rows: contenders.map(row),
      },
    ],
    claims: claimsOf(results),
  };
}

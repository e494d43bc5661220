/** The cost of a batch with 1, 8 and 64 items, compared with dataloader. */
import { medianOf, type Progress, type Results, ratioOf, runInterleaved } from "../harness/rounds.ts";
import { type Claim, figure, ratio, type Scale, type Section } from "../report/section.ts";
import { titleOf } from "./names.ts";

const contenders = ["hand-written", "dataloader", "batchwise-plain", "batchwise-turn"];
const time = "nsPerBatch";

interface Burst {
  readonly items: number;
  readonly maxBatchSize: number;
  /** Bursts of one run: some milliseconds. */
  readonly batches: number;
  /** The most that a batch of a contender may cost, as a multiple of dataloader's. */
  readonly limits: Readonly<Record<string, number>>;
}

const bursts: readonly Burst[] = [
  { items: 1, maxBatchSize: 32, batches: 10_000, limits: { "batchwise-plain": 4, "batchwise-turn": 2.2 } },
  { items: 8, maxBatchSize: 32, batches: 4_000, limits: { "batchwise-plain": 2.5 } },
  { items: 64, maxBatchSize: 64, batches: 1_000, limits: { "batchwise-plain": 1.25 } },
];

interface BurstResults {
  readonly burst: Burst;
  readonly results: Results;
}

function sizeOf({ items }: Burst): string {
  return items === 1 ? "1 item" : `${items} items`;
}

function claimsOf({ burst, results }: BurstResults): Claim[] {
  return Object.entries(burst.limits).map(([contender, limit]) => ({
    text: `bursts: ${titleOf(contender)}, a batch of ${sizeOf(burst)}, against ${titleOf("dataloader")}`,
    measured: ratioOf(results, contender, "dataloader", time),
    sense: "at most",
    limit,
    unit: "x",
  }));
}

function rowsOf({ burst, results }: BurstResults): string[][] {
  return contenders.map((contender) => [
    sizeOf(burst),
    titleOf(contender),
    figure(medianOf(results, contender, time)),
    ratio(ratioOf(results, contender, "hand-written", time)),
    ratio(ratioOf(results, contender, "dataloader", time)),
  ]);
}

export async function oneBatch({ rounds, skip }: Scale, progress: Progress): Promise<Section> {
  const plans = bursts.map(({ items, maxBatchSize, batches }) => ({
    workload: "batches",
    contenders,
    rounds,
    settings: { items, maxBatchSize, batches },
    skip,
  }));
  const results = await runInterleaved(plans, progress);
  const measured = bursts.map((burst, at): BurstResults => ({ burst, results: results[at] as Results }));
  return {
    title: "Bursts of one batch",
    about: [
      "1, 8 or 64 submits in one turn, then the answers are awaited, then the next burst: the cost of a batch. batchwise has",
      "its default options, with a size of 64 for 64 items (its default is 32). The handler answers each item with itself.",
    ],
    tables: [
      { head: ["burst", "contender", "ns/batch", "÷ hand-written", "÷ dataloader"], rows: measured.flatMap(rowsOf) },
    ],
    claims: measured.flatMap(claimsOf),
  };
}

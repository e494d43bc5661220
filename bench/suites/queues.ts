/**
 * W2, W3 and the price of an option: the cost per item if submits come from promise jobs, and in
 * deep queues.
 */
import { medianOf, type Progress, type Results, ratioOf, runRounds } from "../harness/rounds.ts";
import { type Claim, figure, ratio, type Scale, type Section, type Table } from "../report/section.ts";
import { concurrencyOf, titleOf } from "./names.ts";

const time = "nsPerItem";

interface Pair {
  readonly contender: string;
  readonly base: string;
  /** The name of the base in the claim. */
  readonly against: string;
  readonly limit: number;
}

function claim(load: string, results: Results, { contender, base, against, limit }: Pair): Claim {
  const text = `${load}: ${titleOf(contender)}, an item, against ${against}`;
  return { text, measured: ratioOf(results, contender, base, time), sense: "at most", limit, unit: "x" };
}

export async function closedLoop({ rounds, quick, skip }: Scale, progress: Progress): Promise<Section> {
  const contenders = ["hand-written", "dataloader", "batchwise-plain", ...(quick ? [] : ["batchwise-parallel"])];
  const results = await runRounds({ workload: "w2", contenders, rounds, settings: {}, skip }, progress);
  const rows = contenders.map((contender) => [
    titleOf(contender),
    concurrencyOf(contender),
    figure(medianOf(results, contender, time)),
    ratio(ratioOf(results, contender, "hand-written", time)),
    ratio(ratioOf(results, contender, "dataloader", time)),
    figure(medianOf(results, contender, "batches")),
  ]);
  return {
    title: "W2: callers in a closed loop",
    about: [
      "10,000 callers, each submitting 30 items one after the other, at most 256 items in a batch. Submits come out of",
      "promise jobs, as they do in a server.",
    ],
    tables: [{ head: ["contender", "concurrency", "ns/item", "÷ hand-written", "÷ dataloader", "batches"], rows }],
    claims: [
      claim("W2", results, {
        contender: "batchwise-plain",
        base: "dataloader",
        against: titleOf("dataloader"),
        limit: 1.05,
      }),
    ],
  };
}

function deepTable(results: Results, contenders: readonly string[], base: string, baseTitle: string): Table {
  return {
    head: ["contender", "ns/item", `÷ ${baseTitle}`, "batches", "peak MB"],
    rows: contenders.map((contender) => [
      contender === "dataloader" ? "dataloader, cache off + p-limit(1)" : titleOf(contender),
      figure(medianOf(results, contender, time)),
      ratio(ratioOf(results, contender, base, time)),
      figure(medianOf(results, contender, "batches")),
      figure(medianOf(results, contender, "peakMb")),
    ]),
  };
}

export async function deepQueue({ rounds, quick, skip }: Scale, progress: Progress): Promise<Section> {
  const contenders = ["hand-written", "dataloader", "batchwise-plain", "batchwise-deadlines"];
  const settings: Record<string, number> = quick ? { items: 300_000, runs: 3 } : {};
  const flags = ["--expose-gc"];
  const results = await runRounds({ workload: "w3", contenders, rounds, settings, flags, skip }, progress);
  const against = "dataloader with a limiter";
  return {
    title: "W3: a deep queue",
    about: [
      `${quick ? "300,000" : "1,000,000"} items submitted in one turn, one slot, at most 256 items in a batch, no bound on the queue. Most of the time`,
      "goes into the garbage collector's copying of the waiting promises, which is the same for all.",
    ],
    tables: [deepTable(results, contenders, "dataloader", against)],
    claims: [
      claim("W3", results, { contender: "batchwise-plain", base: "dataloader", against, limit: 0.95 }),
      claim("W3", results, { contender: "batchwise-deadlines", base: "dataloader", against, limit: 2 }),
    ],
  };
}

export async function optionCost({ rounds, quick, skip }: Scale, progress: Progress): Promise<Section> {
  const options = ["batchwise-keys", "batchwise-signal", "batchwise-fair"];
  const contenders = ["batchwise-plain", ...options];
  const settings: Record<string, number> = quick ? { runs: 3 } : {};
  const flags = ["--expose-gc"];
  const results = await runRounds({ workload: "options", contenders, rounds, settings, flags, skip }, progress);
  return {
    title: "What an option costs",
    about: [
      "200,000 items submitted in one turn, one slot, at most 20 items in a batch: 20 items for each of 10,000 keys, 200",
      "for each of 1,000 tenants, or all of them with the same AbortSignal. All make the same number of batches.",
    ],
    tables: [deepTable(results, contenders, "batchwise-plain", "plain")],
    claims: options.map((contender) =>
      claim("options", results, { contender, base: "batchwise-plain", against: "the plain path", limit: 3 }),
    ),
  };
}

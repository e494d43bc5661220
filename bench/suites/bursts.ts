/** W1: the cost of one item, compared with the bound and the peers. */
import { medianOf, type Progress, type Results, ratioOf, runRounds } from "../harness/rounds.ts";
import { allocationFlags } from "../micro/bursts.ts";
import { type Claim, figure, ratio, type Scale, type Section } from "../report/section.ts";
import { concurrencyOf, titleOf } from "./names.ts";

const core = ["hand-written", "dataloader", "batchwise-plain", "batchwise-featured", "batchwise-many"];
const others = ["batchwise-parallel", "promise-batcher", "cargo-queue", "batshit", "pacer", "pacer@1"];

const time = "nsPerItem";
const bytes = "bytesPerItem";

function timeClaims(times: Results, quick: boolean): Claim[] {
  const atMost = (contender: string, base: string, limit: number): Claim => ({
    text: `W1: ${titleOf(contender)}, an item, against ${titleOf(base)}`,
    measured: ratioOf(times, contender, base, time),
    sense: "at most",
    limit,
    unit: "x",
  });
  const fasterThan = (peer: string, limit: number): Claim => ({
    text: `W1: times faster than ${titleOf(peer)}`,
    measured: ratioOf(times, peer, "batchwise-plain", time),
    sense: "at least",
    limit,
    unit: "x",
  });
  return [
    atMost("batchwise-plain", "dataloader", 1),
    atMost("batchwise-featured", "dataloader", 1.25),
    atMost("batchwise-many", "dataloader", 0.5),
    ...(quick ? [] : [fasterThan("pacer@1", 8), fasterThan("batshit", 4)]),
  ];
}

/**
 * Pacer fills even the large young generation of the bytes run, so its growth cannot be measured.
 */
function keepsYoung(contender: string): boolean {
  return !contender.startsWith("pacer");
}

function row(contender: string, times: Results, sizes: Results): string[] {
  return [
    titleOf(contender),
    concurrencyOf(contender),
    figure(medianOf(times, contender, time)),
    ratio(ratioOf(times, contender, "hand-written", time)),
    ratio(ratioOf(times, contender, "dataloader", time)),
    figure(medianOf(times, contender, "batches")),
    figure(medianOf(sizes, contender, bytes)),
    ratio(ratioOf(sizes, contender, "dataloader", bytes)),
  ];
}

export async function bursts({ rounds, quick, skip }: Scale, progress: Progress): Promise<Section> {
  const contenders = quick ? core : [...core, ...others];
  const times = await runRounds({ workload: "w1", contenders, rounds, settings: {}, skip }, progress);
  const sizes = await runRounds(
    {
      workload: "bytes",
      contenders: contenders.filter(keepsYoung),
      rounds: quick ? 1 : 3,
      settings: {},
      flags: allocationFlags,
      skip,
    },
    progress,
  );
  return {
    title: "W1: the cost of an item",
    about: [
      "100,000 submits in bursts of 1,000 in one turn, at most 100 items in a batch, a handler that answers each item",
      "with itself. One shared `.then` callback hangs on every promise; it is part of every figure. batchwise runs one",
      "batch at a time, its default; the others run all ten batches of a burst at once. Pacer gives no result per item",
      "and does not fire below its size without a wait, so a program needs the wait; the row without one is flushed by",
      "the benchmark at the end of each burst. batshit's figure includes what it keeps of every batch it has made. Bytes are",
      "what the heap grew by with no collection in between.",
    ],
    tables: [
      {
        head: [
          "contender",
          "concurrency",
          "ns/item",
          "÷ hand-written",
          "÷ dataloader",
          "batches",
          "bytes/item",
          "bytes ÷ dataloader",
        ],
        rows: contenders.map((contender) => row(contender, times, sizes)),
      },
    ],
    claims: timeClaims(times, quick),
  };
}

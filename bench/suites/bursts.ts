/** W1: the cost of one item, compared with the bound and the peers. */
import { medianOf, type Progress, type Results, ratioOf, runInterleaved, runRounds } from "../harness/rounds.ts";
import { allocationFlags } from "../micro/bursts.ts";
import { type Claim, figure, ratio, type Scale, type Section, type Table } from "../report/section.ts";
import { concurrencyOf, titleOf } from "./names.ts";

const core = ["hand-written", "dataloader", "batchwise-plain", "batchwise-featured", "batchwise-many"];
const others = ["batchwise-parallel", "promise-batcher", "cargo-queue", "batshit", "pacer", "pacer@1"];

/**
 * The other contenders differ by far more than the noise between rounds, and some take ten times as
 * long.
 */
const OTHERS_ROUNDS = 3;
/** Bytes differ little from round to round. */
const BYTES_ROUNDS = 2;

const time = "nsPerItem";
const bytes = "bytesPerItem";

/** The times with batches of 32 and of 100, and the bytes with batches of 100. */
interface Measured {
  readonly at32: Results;
  readonly at100: Results;
  readonly sizes: Results;
}

function timeClaims({ at32, at100 }: Measured, quick: boolean): Claim[] {
  const atMost = (contender: string, size: 32 | 100, limit: number): Claim => ({
    text: `W1: ${titleOf(contender)}, an item, batches of ${size}, against ${titleOf("dataloader")}`,
    measured: ratioOf(size === 32 ? at32 : at100, contender, "dataloader", time),
    sense: "at most",
    limit,
    unit: "x",
  });
  const fasterThan = (peer: string, limit: number): Claim => ({
    text: `W1: times faster than ${titleOf(peer)}`,
    measured: ratioOf(at100, peer, "batchwise-plain", time),
    sense: "at least",
    limit,
    unit: "x",
  });
  return [
    atMost("batchwise-plain", 32, 1.15),
    atMost("batchwise-plain", 100, 1),
    atMost("batchwise-featured", 100, 1.4),
    atMost("batchwise-many", 100, 0.5),
    ...(quick ? [] : [fasterThan("pacer@1", 8), fasterThan("batshit", 4)]),
  ];
}

/** False for Pacer: it fills the young generation, so a collection hides its growth. */
function keepsYoung(contender: string): boolean {
  return !contender.startsWith("pacer");
}

function timeCells(contender: string, times: Results): string[] {
  return [
    titleOf(contender),
    concurrencyOf(contender),
    figure(medianOf(times, contender, time)),
    ratio(ratioOf(times, contender, "hand-written", time)),
    ratio(ratioOf(times, contender, "dataloader", time)),
    figure(medianOf(times, contender, "batches")),
  ];
}

function tablesOf({ at32, at100, sizes }: Measured, contenders: readonly string[]): Table[] {
  const columns = ["concurrency", "ns/item", "÷ hand-written", "÷ dataloader", "batches"];
  const head = (size: number): string[] => [`contender, batches of ${size}`, ...columns];
  const byteCells = (contender: string): string[] => [
    figure(medianOf(sizes, contender, bytes)),
    ratio(ratioOf(sizes, contender, "dataloader", bytes)),
  ];
  return [
    { head: head(32), rows: core.map((contender) => timeCells(contender, at32)) },
    {
      head: [...head(100), "bytes/item", "bytes ÷ dataloader"],
      rows: contenders.map((contender) => [...timeCells(contender, at100), ...byteCells(contender)]),
    },
  ];
}

async function measure(contenders: readonly string[], scale: Scale, progress: Progress): Promise<Measured> {
  const { rounds, quick, skip } = scale;
  const fewer = Object.fromEntries(others.map((name) => [name, OTHERS_ROUNDS]));
  const timePlan = { workload: "w1", rounds, skip, fewer };
  const [at32, at100] = await runInterleaved(
    [
      { ...timePlan, contenders: core, settings: { maxBatchSize: 32 } },
      { ...timePlan, contenders, settings: { maxBatchSize: 100 } },
    ],
    progress,
  );
  const bytesPlan = { workload: "bytes", rounds: quick ? 1 : BYTES_ROUNDS, settings: {}, flags: allocationFlags, skip };
  const sizes = await runRounds({ ...bytesPlan, contenders: contenders.filter(keepsYoung) }, progress);
  return { at32: at32 as Results, at100: at100 as Results, sizes };
}

export async function bursts(scale: Scale, progress: Progress): Promise<Section> {
  const contenders = scale.quick ? core : [...core, ...others];
  const measured = await measure(contenders, scale, progress);
  return {
    title: "W1: the cost of an item",
    about: [
      "100,000 submits in bursts of 1,000 in one turn, at most 32 items in a batch (batchwise's default), then at most 100;",
      "a handler that answers each item with itself. One shared `.then` callback hangs on every promise; it is part of every",
      "figure. batchwise runs one batch at a time, its default; the others run all batches of a burst at once. Pacer gives no",
      "result per item and does not fire below its size without a wait, so a program needs the wait; the row without one is",
      "flushed by the benchmark at the end of each burst. batshit's figure includes what it keeps of every batch it has made.",
      `Contenders after submitMany run in ${OTHERS_ROUNDS} rounds. Bytes are what the heap grew by with no collection in between.`,
    ],
    tables: tablesOf(measured, contenders),
    claims: timeClaims(measured, scale.quick),
  };
}

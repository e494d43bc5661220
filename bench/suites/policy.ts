/** W6: the effect of a batching policy under Poisson arrivals, if the backend has one slot. */
import type { Settings } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import {
  medianOf,
  type Progress,
  type Results,
  ratioOf,
  runInterleaved,
  runRounds,
  valuesOf,
} from "../harness/rounds.ts";
import type { Claim, Scale, Section } from "../report/section.ts";

const ours = "batchwise-plain";

const titles: Readonly<Record<string, string>> = {
  "batchwise-plain": "**batchwise**, defaults",
  "batchwise-plain@2": "batchwise, maxWaitMs 2",
  "cargo-queue": "async.cargoQueue(1)",
  "promise-batcher@1": "promise-batcher, thresholds [1, Infinity]",
  "pacer@5": "TanStack Pacer, wait 5 ms + p-limit(1)",
  "dataloader@5": "dataloader, window 5 ms + p-limit(1)",
  "batshit@5": "batshit, window 5 ms + p-limit(1)",
  dataloader: "dataloader + p-limit(1)",
  unbatched: "no batching + p-limit(1)",
};

const contenders = Object.keys(titles);
/**
 * These close a batch when the slot takes it, and differ little. The others are measured for less
 * time.
 */
const close = [ours, "cargo-queue", "promise-batcher@1"];
const rest = contenders.filter((name) => !close.includes(name));
const REST_ROUNDS = 2;
const REST_MS = 1_500;
const peers = contenders.filter((name) => !name.startsWith("batchwise"));

/**
 * A rate, and how long the close contenders run under it: long enough for a 99th percentile of
 * several thousand callers.
 */
interface Rate {
  readonly perSecond: number;
  readonly durationMs: number;
}

const rates: readonly Rate[] = [
  { perSecond: 200, durationMs: 6_000 },
  { perSecond: 1_000, durationMs: 4_000 },
  { perSecond: 4_000, durationMs: 3_000 },
];

interface RateResults {
  readonly perSecond: number;
  readonly results: Results;
}

function cell(results: Results, contender: string): string {
  const share = medianOf(results, contender, "answeredShare");
  const late = share < 0.9995 ? `; ${Math.min(99, Math.round(share * 100))} % answered` : "";
  const [p50, p99, mean] = ["p50Ms", "p99Ms", "meanBatch"].map((field) =>
    medianOf(results, contender, field).toFixed(1),
  );
  return `${p50} / ${p99} (${mean}${late})`;
}

function bestPeer(results: Results, field: string): string {
  const byValue = [...peers].sort((left, right) => medianOf(results, left, field) - medianOf(results, right, field));
  return byValue[0] as string;
}

/**
 * Two runs of one policy over one schedule differ by the resolution of the clock: that much is "no
 * worse".
 */
const spread: Readonly<Record<string, number>> = { p50Ms: 1.03, p99Ms: 1.05 };

function latencyClaim({ perSecond, results }: RateResults, field: "p50Ms" | "p99Ms"): Claim {
  const best = bestPeer(results, field);
  return {
    text: `W6: ${field.slice(0, 3)} at ${perSecond.toLocaleString("en-US")}/s against the best peer (${titles[best]})`,
    measured: against(results, best, field),
    sense: "at most",
    limit: spread[field] as number,
    unit: "x",
  };
}

/** Round by round if the peer ran in all of them. */
function against(results: Results, peer: string, field: string): number {
  if (close.includes(peer)) return ratioOf(results, ours, peer, field);
  return medianOf(results, ours, field) / medianOf(results, peer, field);
}

function answeredClaim({ perSecond, results }: RateResults): Claim {
  return {
    text: `W6: share of callers answered at ${perSecond.toLocaleString("en-US")}/s`,
    measured: Math.min(...valuesOf(results, ours, "answeredShare")),
    sense: "at least",
    limit: 1,
    unit: "",
  };
}

async function quickPolicy(skip: readonly string[], progress: Progress): Promise<Section> {
  const plan = {
    workload: "w6",
    contenders: [ours, "cargo-queue"],
    rounds: 2,
    settings: { perSecond: 4_000, durationMs: 1_500 },
    skip,
  };
  const results = await runRounds({ ...plan, varying: (round) => ({ seed: round + 1 }) }, progress);
  const claim = (field: "p50Ms" | "p99Ms"): Claim => ({
    text: `W6: ${field.slice(0, 3)} at 4,000/s against async.cargoQueue(1)`,
    measured: median(valuesOf(results, ours, field)) / median(valuesOf(results, "cargo-queue", field)),
    sense: "at most",
    limit: spread[field] as number,
    unit: "x",
  });
  return {
    title: "W6: policy",
    about: ["4,000 callers a second only."],
    tables: [],
    claims: [claim("p50Ms"), claim("p99Ms")],
  };
}

async function measured({ rounds, skip }: Scale, progress: Progress): Promise<readonly RateResults[]> {
  const plan = { workload: "w6", varying: (round: number): Settings => ({ seed: round + 1 }), skip };
  const closePlans = rates.map((settings) => ({ ...plan, contenders: close, rounds, settings: { ...settings } }));
  const restPlans = rates.map(({ perSecond }) => {
    const settings = { perSecond, durationMs: REST_MS };
    return { ...plan, contenders: rest, rounds: Math.min(rounds, REST_ROUNDS), settings };
  });
  const ofClose = await runInterleaved(closePlans, progress);
  const ofRest = await runInterleaved(restPlans, progress);
  return rates.map(({ perSecond }, at) => {
    const [closer, others] = [ofClose[at] as Results, ofRest[at] as Results];
    return { perSecond, results: new Map([...closer, ...others]) };
  });
}

export async function policy(scale: Scale, progress: Progress): Promise<Section> {
  if (scale.quick) return quickPolicy(scale.skip, progress);
  const found = await measured(scale, progress);
  return {
    title: "W6: policy under load",
    about: [
      "One slot; a call takes 4 ms and 0.1 ms an item, at most 64 items. Open-loop Poisson arrivals (the same",
      "schedule for all in a round). batchwise, cargoQueue and promise-batcher meet them for 6, 4 and 3 s; the others",
      `after them, for ${REST_MS / 1_000} s in ${REST_ROUNDS} rounds. The cells are p50 / p99 in ms, from the scheduled arrival, and the mean`,
      "batch; a caller without an answer half a second after the last arrival counts with its age. `async.cargoQueue`",
      "binds as late as batchwise does; what it lacks is a result per item, which the benchmark adds by hand.",
      "Before it is measured each contender serves the same load ten times as fast for one second, callers and backend,",
      "as a service that has been up for a while has its code compiled.",
      `A latency is no worse when it is within the spread of two runs of one policy: ${spread.p50Ms} x for p50, ${spread.p99Ms} x for p99.`,
    ],
    tables: [
      {
        head: ["contender", ...found.map(({ perSecond }) => `${perSecond.toLocaleString("en-US")}/s`)],
        rows: contenders.map((name) => [titles[name] as string, ...found.map(({ results }) => cell(results, name))]),
      },
    ],
    claims: found.flatMap((rate) => [latencyClaim(rate, "p50Ms"), latencyClaim(rate, "p99Ms"), answeredClaim(rate)]),
  };
}

/**
 * The load under which Flyte's DynamicBatcher, mixedbread's `batched`, inferflow and Ray Serve's
 * `@serve.batch` were measured, with our row beside the best of theirs. Their figures are quoted;
 * ours are measured here.
 */
import { medianOf, type Plan, type Progress, type Results, runInterleaved } from "../harness/rounds.ts";
import { type Claim, figure, type Scale, type Section } from "../report/section.ts";

interface Quoted {
  readonly value: number;
  readonly system: string;
}

interface Load {
  readonly title: string;
  readonly settings: { readonly perSecond?: number; readonly clients?: number };
  /** The best of the four systems in each figure, at the good end of its range over three runs. */
  readonly best: { readonly p50Ms?: Quoted; readonly p99Ms?: Quoted; readonly donePerSecond?: Quoted };
}

const loads: readonly Load[] = [
  {
    title: "50/s",
    settings: { perSecond: 50 },
    best: { p50Ms: { value: 6.3, system: "inferflow" }, p99Ms: { value: 11.3, system: "inferflow" } },
  },
  {
    title: "500/s",
    settings: { perSecond: 500 },
    best: { p50Ms: { value: 8.6, system: "inferflow" }, p99Ms: { value: 12.9, system: "Ray Serve" } },
  },
  {
    title: "2,000/s",
    settings: { perSecond: 2_000 },
    best: { p50Ms: { value: 10.5, system: "inferflow" }, p99Ms: { value: 15.9, system: "inferflow" } },
  },
  {
    title: "4,000/s (more than the slot can do)",
    settings: { perSecond: 4_000 },
    best: {
      p50Ms: { value: 151, system: "Flyte" },
      p99Ms: { value: 287, system: "Flyte" },
      donePerSecond: { value: 3_600, system: "Flyte" },
    },
  },
  {
    title: "closed loop, 1 client",
    settings: { clients: 1 },
    best: { p50Ms: { value: 6.2, system: "inferflow" }, donePerSecond: { value: 160, system: "inferflow" } },
  },
  {
    title: "closed loop, 64 clients",
    settings: { clients: 64 },
    best: { donePerSecond: { value: 3_673, system: "batched" } },
  },
  {
    title: "closed loop, 512 clients",
    settings: { clients: 512 },
    best: { donePerSecond: { value: 3_548, system: "Flyte" } },
  },
];

const fields = ["p50Ms", "p99Ms", "donePerSecond"] as const;
const fieldTitles = { p50Ms: "p50", p99Ms: "p99", donePerSecond: "done" };
const ours = "batchwise-plain";

interface LoadResults {
  readonly load: Load;
  readonly exact: Results;
  readonly rounded: Results;
}

function quotedText({ best }: Load): string {
  return fields
    .flatMap((field) => {
      const quoted = best[field];
      if (quoted === undefined) return [];
      const unit = field === "donePerSecond" ? "/s" : " ms";
      return [`${fieldTitles[field]} ${figure(quoted.value)}${unit} (${quoted.system})`];
    })
    .join(", ");
}

function measuredText(results: Results): string {
  const [p50, p99, done] = fields.map((field) => figure(medianOf(results, ours, field)));
  return `${p50} / ${p99} ms, ${done}/s`;
}

function claimsOf({ load, exact }: LoadResults): Claim[] {
  return fields.flatMap((field) => {
    const quoted = load.best[field];
    if (quoted === undefined) return [];
    const throughput = field === "donePerSecond";
    return [
      {
        text: `${load.title}: ${fieldTitles[field]}, against ${quoted.system}`,
        measured: medianOf(exact, ours, field),
        sense: throughput ? ("above" as const) : ("below" as const),
        limit: quoted.value,
        unit: throughput ? "/s" : "ms",
      },
    ];
  });
}

/** No target depends on the rounded sleeps. */
const ROUNDED_ROUNDS = 1;

export async function pythonSystems({ rounds, skip }: Scale, progress: Progress): Promise<Section> {
  const planOf = ({ settings }: Load, rounded: number): Plan => ({
    workload: "sleep",
    contenders: [ours],
    rounds: rounded === 0 ? rounds : ROUNDED_ROUNDS,
    settings: { ...settings, rounded },
    varying: (round) => ({ seed: round + 1 }),
    skip,
  });
  const results = await runInterleaved(
    [...loads.map((load) => planOf(load, 0)), ...loads.map((load) => planOf(load, 1))],
    progress,
  );
  const measured = loads.map(
    (load, at): LoadResults => ({
      load,
      exact: results[at] as Results,
      rounded: results[loads.length + at] as Results,
    }),
  );
  return {
    title: "The load of the four Python systems",
    about: [
      "A handler that sleeps 5 ms and 0.1 ms an item, at most 32 items, one slot (3,902 items a second at most). Open loop",
      "(Poisson) for 3 s, closed loop for 2 s; ours with default options, median of the rounds.",
      "",
      "The Python figures are quoted from a run of Flyte's DynamicBatcher, mixedbread's `batched`, inferflow and Ray Serve's",
      "`@serve.batch` (the decorator outside a cluster) with a wait of 5 ms, on a machine of the same kind (AMD EPYC, 2",
      "cores, Python 3.11), the best of the four in each figure at the good end of three runs. They were not run again here.",
      "asyncio rounds its sleeps up: alone, 5.1 ms take 6.1. The last column has every sleep of ours rounded up to a whole",
      "millisecond too, in one round, also under load, where other wake-ups spare asyncio a part of that.",
    ],
    tables: [
      {
        head: [
          "load",
          "best of the four, quoted",
          "batchwise: p50 / p99, done",
          "batchwise, sleeps rounded up to 1 ms",
        ],
        rows: measured.map(({ load, exact, rounded }) => [
          load.title,
          quotedText(load),
          measuredText(exact),
          measuredText(rounded),
        ]),
      },
    ],
    claims: measured.flatMap(claimsOf),
  };
}

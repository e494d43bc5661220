/**
 * The dispatcher on SQLite compared with its targets, and with plain SQLite in the same run. Long:
 * it seals among ten million done requests, and passes a million through.
 */
import type { Progress } from "../harness/rounds.ts";
import { type Claim, figure, ratio, type Scale, type Section } from "../report/section.ts";
import { PRUNED } from "../store/pruning.ts";
import { Rounds } from "../store/rounds.ts";
import { MANY_DONE, PASSING } from "../store/work.ts";
import { sizeTable } from "./size-table.ts";

/** The quick run does this share of the long measures. */
const QUICK_SHARE = 10;

const IN_EACH_ROUND = [
  ...["ingest", "ingestRaw", "dispatchMany", "ingestRawOrdered", "dispatchManyUnnamed"],
  ...["single", "singleRaw", "dispatchSingle", "batch", "settleRaw"],
];

export async function sqliteStore({ rounds, quick }: Scale, progress: Progress): Promise<Section> {
  const share = quick ? QUICK_SHARE : 1;
  const [many, passing] = [MANY_DONE / share, PASSING / share];
  const seen = new Rounds(progress);
  for (let round = 0; round < rounds; round += 1) {
    for (const name of IN_EACH_ROUND) await seen.add(name);
  }
  await seen.add("sealAmong", many);
  await seen.add("passing", passing);
  await seen.add("size");
  await seen.add("prune", PRUNED / (quick ? 2 : 1));
  return sectionOf(seen, many, passing);
}

function sectionOf(seen: Rounds, many: number, passing: number): Section {
  const row = (what: string, name: string, base: string): string[] => [
    what,
    `${figure(seen.of(name, "perSecond"))}/s`,
    `${figure(seen.of(base, "perSecond"))}/s`,
    ratio(seen.ratio(name, base)),
  ];
  const alone = (what: string, value: number, unit: string): string[] => [what, `${figure(value)}${unit}`, "", ""];
  return {
    title: "SQLite",
    about: [
      "Requests of 2 KB of drawn words, results of 500 bytes; WAL, synchronous FULL, a commit is on the disk when its callers are",
      "answered. Ids are random, the hardest case for the index that holds them, but for the row that leaves them to the",
      "dispatcher: its own sort by time. Plain SQLite is one table with one prepared insert, ids of the same kind and the",
      "same settings: for calls and results 1,000 inserts a commit, for single requests one insert a commit. Done",
      "requests are made by SQL, with the rows that the store leaves and texts of 20 bytes.",
      "",
      `For the memory, ${figure(passing)} requests of 2 KB pass through one dispatcher: enqueued, sealed, uploaded to a`,
      "provider in another process, collected, settled, and each read once by its cursor. It is the most that the",
      "dispatcher's process ever held (resident, shared pages included), with Node's defaults and a client of plain",
      "HTTP; Node's own compiler for TypeScript, which takes 20 MB, is kept out by its cache.",
    ],
    tables: [
      {
        head: ["work", "batchwise", "plain SQLite", "ratio"],
        rows: [
          row("the store: in by calls of 1,000", "ingest", "ingestRaw"),
          row("the dispatcher: in by `enqueueMany` of 1,000", "dispatchMany", "ingestRaw"),
          row("the same under the dispatcher's own ids", "dispatchManyUnnamed", "ingestRawOrdered"),
          row("the store: in one by one, 256 callers", "single", "singleRaw"),
          row("the dispatcher: in by `enqueue`, 256 callers", "dispatchSingle", "singleRaw"),
          row("settle by chunks of 1,000", "batch", "settleRaw"),
          alone("seal 50,000 among 10,000 done", seen.of("sealAmong", "fewMs"), " ms"),
          alone(`seal 50,000 among ${figure(many)} done`, seen.of("sealAmong", "manyMs"), " ms"),
          alone("probe the 50,000 there", seen.of("sealAmong", "probeMs"), " ms"),
          alone("read 50,000 for an upload", seen.of("size", "uploadPerSecond"), "/s"),
          alone("pruned, while single requests come in", seen.of("prune", "perSecond"), "/s"),
          alone("99 of 100 of these wait at most", seen.of("prune", "enqueueP99Ms"), " ms"),
          alone("an ended request takes", seen.of("prune", "fullBytes"), " bytes"),
          alone("the same once it is pruned", seen.of("prune", "leftBytes"), " bytes"),
          alone("all the way through one dispatcher", seen.of("passing", "perSecond"), "/s"),
        ],
      },
      sizeTable("SQLite", seen),
    ],
    claims: claimsOf(seen, many, passing),
  };
}

function claimsOf(seen: Rounds, many: number, passing: number): Claim[] {
  const among = `sealing among ${figure(many)} done, against 10,000 done`;
  return [
    atLeast(
      "durable by `enqueueMany` of 1,000, under the dispatcher's own ids",
      seen.of("dispatchManyUnnamed", "perSecond"),
      30_000,
      "/s",
    ),
    atLeast("durable by single `enqueue`s, 256 callers", seen.of("dispatchSingle", "perSecond"), 5_000, "/s"),
    atMost("sealing 50,000", seen.of("batch", "sealMs"), 150, "ms"),
    atLeast("settled by chunks of 1,000", seen.of("batch", "perSecond"), 30_000, "/s"),
    atMost(among, seen.of("sealAmong", "ratio"), 1.5, "x"),
    atMost(`peak memory while ${figure(passing)} pass through`, seen.of("passing", "peakMb"), 300, "MB"),
  ];
}

function atLeast(text: string, measured: number, limit: number, unit: string): Claim {
  return { text, measured, sense: "at least", limit, unit };
}

function atMost(text: string, measured: number, limit: number, unit: string): Claim {
  return { text, measured, sense: "at most", limit, unit };
}

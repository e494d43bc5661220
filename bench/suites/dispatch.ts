/**
 * The dispatcher on SQLite compared with plain SQLite: finds a regression within a minute, only by
 * ratios. dispatch-store.ts, which takes longer, measures the figures themselves.
 */
import type { Progress } from "../harness/rounds.ts";
import { type Claim, figure, ratio, type Scale, type Section } from "../report/section.ts";
import { Rounds } from "../store/rounds.ts";

interface Pair {
  readonly text: string;
  readonly name: string;
  readonly base: string;
  /** Number of requests for each side. */
  readonly counts: readonly [number, number];
  readonly limit: number;
}

const MANY_DONE = 200_000;

/**
 * Limits are well below the results of a quiet machine: disks differ, and a busy processor slows
 * the two sides unequally.
 */
const pairs: readonly Pair[] = [
  {
    text: "`enqueueMany` of 1,000, against 1,000 inserts a commit",
    ...{ name: "dispatchMany", base: "ingestRaw", counts: [40_000, 40_000], limit: 0.2 },
  },
  {
    text: "single `enqueue`s by 256 callers, against one insert a commit",
    ...{ name: "dispatchSingle", base: "singleRaw", counts: [10_000, 1_000], limit: 2 },
  },
  {
    text: "settled by chunks of 1,000, against 1,000 inserts a commit",
    ...{ name: "batch", base: "settleRaw", counts: [50_000, 50_000], limit: 0.12 },
  },
];

export async function dispatch({ rounds }: Scale, progress: Progress): Promise<Section> {
  const seen = new Rounds(progress);
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, base, counts } of pairs) {
      await seen.add(base, counts[1]);
      await seen.add(name, counts[0]);
    }
  }
  await seen.add("sealAmong", MANY_DONE);
  const claims = pairs.map(
    ({ text, name, base, limit }): Claim => ({
      ...{ text: `dispatcher: ${text}`, measured: seen.ratio(name, base), sense: "at least", limit, unit: "x" },
    }),
  );
  const among = { text: `dispatcher: sealing among ${figure(MANY_DONE)} done, against 10,000 done`, unit: "x" };
  return {
    title: "The dispatcher on SQLite",
    about: ["Requests of 2 KB, results of 500 bytes, every commit on the disk before its callers are answered."],
    tables: [
      {
        head: ["work", "dispatcher", "plain SQLite", "ratio"],
        rows: pairs.map(({ text, name, base }) => [
          text,
          `${figure(seen.of(name, "perSecond"))}/s`,
          `${figure(seen.of(base, "perSecond"))}/s`,
          ratio(seen.ratio(name, base)),
        ]),
      },
    ],
    claims: [...claims, { ...among, measured: seen.of("sealAmong", "ratio"), sense: "at most", limit: 1.5 }],
  };
}

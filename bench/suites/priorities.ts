/**
 * The cost of distinct priorities in a deep queue, in the three orders in which they can arrive.
 */
import { medianOf, type Progress, ratioOf, runRounds } from "../harness/rounds.ts";
import { type Claim, figure, ratio, type Scale, type Section } from "../report/section.ts";
import { titleOf } from "./names.ts";

const time = "nsPerItem";
const base = "batchwise-one-priority";
const distinct = ["batchwise-mixed", "batchwise-rising", "batchwise-falling"];

export async function priorities({ rounds, quick, skip }: Scale, progress: Progress): Promise<Section> {
  const contenders = [base, ...distinct];
  const settings: Record<string, number> = quick ? { warmups: 1, runs: 3 } : {};
  const flags = ["--expose-gc"];
  const results = await runRounds({ workload: "priorities", contenders, rounds, settings, flags, skip }, progress);
  return {
    title: "Distinct priorities",
    about: ["10,000 items submitted in one turn, one slot, at most 32 items in a batch."],
    tables: [
      {
        head: ["contender", "ns/item", "÷ one priority", "batches"],
        rows: contenders.map((contender) => [
          titleOf(contender),
          figure(medianOf(results, contender, time)),
          ratio(ratioOf(results, contender, base, time)),
          figure(medianOf(results, contender, "batches")),
        ]),
      },
    ],
    claims: distinct.map(
      (contender): Claim => ({
        text: `priorities: ${titleOf(contender)}, an item, against one priority`,
        measured: ratioOf(results, contender, base, time),
        sense: "at most",
        limit: 10,
        unit: "x",
      }),
    ),
  };
}

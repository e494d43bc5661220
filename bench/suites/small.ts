/** The weight of a batcher, for programs that make one per request or per instance. */
import { medianOf, type Progress, type Results, ratioOf, runRounds } from "../harness/rounds.ts";
import { collectFlags } from "../micro/small.ts";
import { type Claim, figure, ratio, type Scale, type Section } from "../report/section.ts";

const titles: Readonly<Record<string, string>> = {
  dataloader: "`new DataLoader(handler)`",
  "batchwise-create": "**`createBatcher(handler)`**",
  "batchwise-plain": "**`batch(handler)`**",
};
const contenders = Object.keys(titles);
const KIB = 1_024;

function claimsOf(results: Results, contender: string): Claim[] {
  const below = (field: string, what: string, limit: number, unit: string, scale = 1): Claim => ({
    text: `small: ${titles[contender]}, ${what}`,
    measured: medianOf(results, contender, field) / scale,
    sense: "below",
    limit,
    unit,
  });
  return [below("bytes", "what a new one holds", 2, "KiB", KIB), below("makeUs", "time to make one", 5, "µs")];
}

export async function small({ rounds, skip }: Scale, progress: Progress): Promise<Section> {
  const plan = { workload: "small", contenders, rounds, settings: {}, flags: collectFlags, skip };
  const results = await runRounds(plan, progress);
  const kib = (contender: string, field: string): string => figure(medianOf(results, contender, field) / KIB);
  return {
    title: "A small batcher",
    about: [
      "Default options. The size is what memory grew by for each of 10,000 that are kept, after a collection: on the heap,",
      "and outside of it in the values of typed arrays; the second size is that of the same ones after three submits each.",
      "The time to make one is the median over groups of 100. A life is to make one, submit three items, await them, and",
      "drop it; the lives follow one another, and their garbage is collected within the time.",
    ],
    tables: [
      {
        head: [
          "contender",
          "new, KiB",
          "outside the heap, KiB",
          "used, KiB",
          "to make, µs",
          "a life, µs",
          "÷ dataloader",
        ],
        rows: contenders.map((contender) => [
          titles[contender] as string,
          kib(contender, "bytes"),
          kib(contender, "outsideBytes"),
          kib(contender, "usedBytes"),
          figure(medianOf(results, contender, "makeUs")),
          figure(medianOf(results, contender, "cycleUs")),
          ratio(ratioOf(results, contender, "dataloader", "cycleUs")),
        ]),
      },
    ],
    claims: contenders.filter((name) => name !== "dataloader").flatMap((name) => claimsOf(results, name)),
  };
}

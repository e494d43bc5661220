/** The latency of a lone item, compared with dataloader. */
import { medianOf, type Progress, type Results, ratioOf, runRounds } from "../harness/rounds.ts";
import { type Claim, figure, ratio, type Scale, type Section } from "../report/section.ts";
import { titleOf } from "./names.ts";

const contenders = ["hand-written", "dataloader", "cargo-queue", "batchwise-plain", "batchwise-turn"];

/** Each round's ratio is the ratio of the two medians of the round. */
function againstDataloader(results: Results, contender: string): Claim {
  return {
    text: `lone: ${titleOf(contender)}, submit to handler, against ${titleOf("dataloader")}`,
    measured: ratioOf(results, contender, "dataloader", "toHandlerUs"),
    sense: "at most",
    limit: 2.5,
    unit: "x",
  };
}

export async function loneItem({ rounds, quick, skip }: Scale, progress: Progress): Promise<Section> {
  const settings: Record<string, number> = quick ? { samples: 300 } : {};
  const results = await runRounds({ workload: "lone", contenders, rounds, settings, skip }, progress);
  return {
    title: "A lone item on an idle engine",
    about: [
      "Microseconds from the submit to the first line of the handler, and to the answer. Each item has a timer of",
      "its own, with nothing else waiting. The handler is asynchronous. Before the measurement each contender answers",
      "10,000 lone items in turns of the event loop, so that its code is compiled.",
    ],
    tables: [
      {
        head: ["contender", "to the handler, median µs", "÷ dataloader", "p99 µs", "to the answer, median µs"],
        rows: contenders.map((contender) => [
          titleOf(contender),
          figure(medianOf(results, contender, "toHandlerUs")),
          ratio(ratioOf(results, contender, "dataloader", "toHandlerUs")),
          figure(medianOf(results, contender, "toHandlerP99Us")),
          figure(medianOf(results, contender, "toAnswerUs")),
        ]),
      },
    ],
    claims: ["batchwise-plain", "batchwise-turn"].map((contender) => againstDataloader(results, contender)),
  };
}

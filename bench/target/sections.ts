/** The sections of the page. */
import { figure, type Section, type Table } from "../report/section.ts";
import type { Cell, Cells } from "./cells.ts";
import { againstBest, againstBound, cellClaims, mean, otherClaims } from "./claims.ts";
import type { Row } from "./conditions.ts";
import type { Results } from "./measure.ts";
import { settingText } from "./static-settings.ts";

const percent = (share: number): string => (Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)} %`);

export function sectionsOf(results: Results): Section[] {
  const { tuned, unseen } = results;
  return [
    {
      title: "All cells",
      about: [
        "Each service is one slot with 10 % noise; `n` is the size of a batch, times are milliseconds. Load 1 is the capacity:",
        "n/L(n) of the largest n with 2 L(n) <= target. Bursts are three times the mean rate for 200 ms, then a third for 600.",
        "Goodput is the share of the offered items that was answered within the target. *Best static* is the best of 663",
        "settings for that cell (`maxBatchSize`, `maxQueueSize`, `onFull`, `maxWaitMs`), under the same arrivals. Only settings",
        "count whose answers have a p99 within 1.05 x the target. To find one, a person must know the handler, the load and the",
        "target. *Most* is the upper bound for any rule when items arrive independently; bursts cannot reach it.",
      ],
      tables: [cellTable(tuned.cells)],
      claims: [],
    },
    {
      title: "Two services that the rule was not tuned on",
      about: [
        "The same cells. In the first service the cost of an item grows with the batch. The second runs waves of 64 items, as",
        "some accelerators do.",
      ],
      tables: [cellTable(unseen.cells)],
      claims: [],
    },
    {
      title: "Claims about the cells",
      about: [
        "Other rules in the same cells, mean goodput: *known times* is the same rule with the handler's mean times known;",
        "*timeouts* is `timeoutMs` alone; AIMD is Clipper's batch size with timeouts; BentoML's rule fits a line to the last 50",
        "batches. `bench/target/policies.ts` implements them.",
      ],
      tables: [ruleTable(tuned)],
      claims: cellClaims(results),
    },
    {
      title: "Other conditions",
      about: [
        "1.6 x slower: Poisson arrivals at 0.95 of the capacity. Bunches: eight items arrive at once, at the same load.",
        "Slots do not slow one another. Cold starts are means of ten seeds. The optimum is the least mean latency of any rule",
        "with a cap of 32 and no noise; at load 1, batches of 32 serve every item.",
      ],
      tables: [conditionTable(results), optimumTable(results)],
      claims: otherClaims(results),
    },
  ];
}

function cellTable(cells: readonly Cell[]): Table {
  return {
    head: [
      "service",
      "target",
      "arrivals",
      "load",
      "p99 ÷ target",
      "goodput",
      "best static",
      "÷ best",
      "÷ most",
      "setting",
    ],
    rows: cells.map((cell) => [
      cell.service.name,
      `${cell.service.targetMs} ms`,
      cell.kind,
      String(cell.load),
      figure(cell.p99),
      percent(cell.goodput),
      percent(cell.bestGoodput),
      againstBest(cell).toFixed(3),
      againstBound(cell).toFixed(3),
      cell.best === null ? "none keeps it" : settingText(cell.best),
    ]),
  };
}

function ruleTable({ cells, single, singleGoodput }: Cells): Table {
  const row = (name: string, of: (cell: Cell) => number): string[] => [name, percent(mean(cells, of))];
  return {
    head: ["rule", "mean goodput"],
    rows: [
      row("`targetLatencyMs`", (cell) => cell.goodput),
      row("the same with known times", (cell) => cell.known),
      row("best static setting of each cell", (cell) => cell.bestGoodput),
      [`the single static setting that is best over all cells (${settingText(single)})`, percent(singleGoodput)],
      row("BentoML's rule", (cell) => cell.bentoml),
      row("AIMD, with timeouts", (cell) => cell.aimd),
      row("timeouts", (cell) => cell.timeouts),
    ],
  };
}

function conditionTable({ slower, bunches, slots, coldStart }: Results): Table {
  const rowOf = ({ service, condition, goodput, other, p99 }: Row): string[] => {
    return [condition, service.name, percent(goodput), (goodput / other).toFixed(3), figure(p99)];
  };
  return {
    head: ["condition", "service", "goodput", "÷ what it is compared with", "p99 ÷ target"],
    rows: [...slower, ...bunches, ...slots, ...coldStart].map(rowOf),
  };
}

function optimumTable({ optimum }: Results): Table {
  return {
    head: ["service, no target", "load", "mean latency", "exact optimum", "÷ optimum"],
    rows: optimum.map(({ service, load, meanMs, leastMs }) => {
      return [
        service.name,
        String(load),
        `${figure(meanMs)} ms`,
        `${figure(leastMs)} ms`,
        (meanMs / leastMs).toFixed(4),
      ];
    }),
  };
}

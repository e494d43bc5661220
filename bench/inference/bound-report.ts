/** Renders the rate of the model alone, as a table and beside the targets that it bounds. Pure. */
import { renderSection, renderTable } from "../report/markdown.ts";
import { type Claim, figure, ratio, type Section, type Verdict, verdictOf } from "../report/section.ts";
import { CAPS_COUNT, SINGLE } from "./bound-batches.ts";
import { type Bound, type BoundedClaim, boundOf, fitCalls, isOutOfReach, nameInRounds } from "./bound-figures.ts";
import type { CellResult } from "./measure-cell.ts";
import { DEFAULTS, OFF, WORKERS } from "./plan.ts";
import { ratioOf } from "./turns.ts";

export type NamedCell = readonly [name: string, result: CellResult];

const percent = (share: number): string => (Number.isNaN(share) ? "–" : `${Math.round(100 * share)} %`);

/** The rate of the model alone for the texts of a cell; undefined if it was not measured. */
export function boundFor({ bound, rounds }: CellResult): Bound | undefined {
  return bound === undefined ? undefined : boundOf(bound, rounds);
}

export interface BoundedSection extends Section {
  readonly claims: readonly BoundedClaim[];
}

export function boundSection(cells: readonly NamedCell[]): BoundedSection {
  const looks = cells.find(([, { bound }]) => bound !== undefined)?.[1].bound;
  const head = [
    "model/clients/texts",
    "tokens a text",
    "alone, texts/s",
    "best batches, texts/s",
    "ratio: the most by batching",
    "best batches, texts / padded tokens",
    "a call, ms",
    "a token, ms",
    "a call in tokens",
    "off reaches of alone",
    "defaults reach of best",
    "best ÷ off",
  ];
  return {
    title: "The bound: the model alone",
    about: [
      `The model in ${WORKERS} threads, without HTTP, tokeniser or batcher, in turns with the services: each text alone, and`,
      `${figure(looks?.texts ?? Number.NaN)} texts that are known beforehand, sorted by length and cut in the best of up to`,
      `${CAPS_COUNT} ways. A call costs the time of so many tokens besides its own; that is what batching saves in the model.`,
      "No service answers more texts than the best batches, so none has a higher ratio to off than the last column.",
    ],
    tables: [{ head, rows: cells.flatMap(rowsOf) }],
    claims: [],
  };
}

function rowsOf([name, { bound, rounds }]: NamedCell): string[][] {
  if (bound === undefined) return [];
  const { fixedMs, tokenMs, fixedTokens } = fitCalls(bound.probes);
  const { alone, best, name: way, ratio: most, rows, cost } = boundOf(bound, rounds);
  const against = (one: string, other: string): number => ratioOf(rounds, one, other, "perSecond");
  const row = [
    name,
    figure(bound.tokens),
    figure(alone),
    figure(best),
    ratio(most),
    `${figure(rows)} / ${figure(cost)}`,
    figure(fixedMs),
    tokenMs.toFixed(3),
    figure(fixedTokens),
    percent(against(OFF, nameInRounds(SINGLE))),
    percent(against(DEFAULTS, way)),
    ratio(against(way, OFF)),
  ];
  return [row];
}

const VERDICTS: Readonly<Record<Verdict, string>> = { met: "yes", close: "met (within 5 %)", missed: "**no**" };

/** Says whether a target is met, and the model's own rate if it misses the target, too. */
export function verdictText(claim: BoundedClaim): string {
  const verdict = VERDICTS[verdictOf(claim)];
  if (!isOutOfReach(claim)) return verdict;
  return `${verdict} (the model alone, in the best batches, gives ${ratio(claim.bound ?? Number.NaN)} here)`;
}

/**
 * Renders a section. If a target has a bound, it shows the model's own rate and the share of it
 * that is reached.
 */
export function renderBounded(section: BoundedSection): string {
  if (section.claims.every(({ bound }) => bound === undefined)) return renderSection(section);
  return [renderSection({ ...section, claims: [] }), renderClaims(section.claims)].join("\n\n");
}

function renderClaims(claims: readonly BoundedClaim[]): string {
  const value = (measured: number, { unit }: Claim): string => `${figure(measured)} ${unit}`.trim();
  const rows = claims.map((claim) => {
    const { bound = Number.NaN } = claim;
    return [
      claim.text,
      `${claim.sense} ${value(claim.limit, claim)}`,
      value(claim.measured, claim),
      ratio(bound),
      percent(claim.measured / bound),
      verdictText(claim),
    ];
  });
  return renderTable({ head: ["target", "limit", "measured", "the model alone", "reached of it", "met"], rows });
}

// Faults of what a job writes as its results.

import type { Family } from "./families.ts";
import { type Fault, HOUR, MINUTE } from "./fault.ts";
import type { Output } from "./site.ts";

type Json = Record<string, unknown>;

const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");
const asJson = (line: string): Json => JSON.parse(line) as Json;

/** Lines before those that there would be. */
const before = (make: (lines: readonly string[], family: Family) => readonly string[]) => {
  return (family: Family): Output =>
    (lines) =>
      joined([...make(lines, family), ...lines]);
};

const renamed = (family: Family, lines: readonly string[], id: (given: string) => string | null): string[] =>
  lines.map((line) => JSON.stringify(family.named(asJson(line), id(String(family.idOf(asJson(line)))))));

/** The text with a byte that is no UTF-8 in the middle of an answer's words. */
function withOddByte(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  const at = bytes.indexOf("echo");
  if (at >= 0) bytes[at] = 0xff;
  return bytes;
}

const GIANT = 6_000_000;

/** Of the object as a whole, whatever is in its lines. */
export const OUTPUT_FAULTS: readonly Fault[] = [
  { name: "has no results", output: () => () => null, told: /results/, ends: "aside" },
  {
    name: "has no results, and counts nothing",
    isLong: true,
    output: () => () => null,
    strike({ family, fake, time }) {
      const { retrieve, list, counting } = family.service;
      fake.inject({ on: [retrieve, list], until: time.now() + 900 * HOUR, reply: { edit: counting(null) } });
    },
    told: /results/,
    ends: "aside",
  },
  {
    name: "has results that are cut in a line for twenty minutes",
    output: () => (lines) => joined(lines).slice(0, -40),
    overAfterMs: 20 * MINUTE,
    told: /not JSON/,
  },
  {
    name: "has results that are cut after a line for twenty minutes",
    output: () => (lines) => joined(lines.slice(0, 2)),
    overAfterMs: 20 * MINUTE,
    told: /have 2 lines, and the provider counts/,
  },
  { name: "has empty results for twenty minutes", output: () => () => "", overAfterMs: 20 * MINUTE, told: /lines/ },
  {
    name: "has a line too few for ever",
    output: () => (lines) => joined(lines.slice(1)),
    told: /count as missing and are charged a try/,
    runs: 2,
    jobs: 2,
  },
  { name: "has blank lines and ends of lines of Windows", output: () => (lines) => `\r\n${lines.join("\r\n\r\n")}` },
];

/** Of lines, which look different for each family. */
export const LINE_FAULTS: readonly Fault[] = [
  {
    name: "has results of another job among its own",
    output: before((lines, family) => renamed(family, lines, (id) => id.replace(/^.{4}/, "ZZZZ"))),
  },
  {
    name: "has results of requests that it was never given",
    output: before((lines, family) =>
      renamed(family, lines, (id) => id.replace(/\d+$/, (ord) => `${Number(ord) + 500}`)),
    ),
  },
  {
    name: "has results of requests that it was never given in place of some of its own, for twenty minutes",
    output: (family) => (lines) =>
      joined([
        ...renamed(family, lines.slice(0, 2), (id) => id.replace(/\d+$/, (ord) => `${Number(ord) + 500}`)),
        ...lines.slice(2),
      ]),
    overAfterMs: 20 * MINUTE,
    told: /lines/,
  },
  { name: "has results with names of nobody", output: before((lines, family) => renamed(family, lines, () => "what")) },
  { name: "has results without a name", output: before((lines, family) => renamed(family, lines, () => null)) },
  { name: "has every line twice", output: before((lines) => lines) },
  {
    name: "has an error line, then a success for the same request",
    output: before((lines, family) => lines.map((line) => JSON.stringify(family.failed(asJson(line))))),
  },
  {
    name: "has a success, then an error line for the same request",
    output: (family) => (lines) =>
      joined([...lines, ...lines.map((line) => JSON.stringify(family.failed(asJson(line))))]),
  },
  { name: "has bytes that are no UTF-8", output: () => (lines) => withOddByte(joined(lines)) },
  { name: "has a line of six megabytes", output: before(() => [JSON.stringify({ recordId: "x".repeat(GIANT) })]) },
  { name: "has a line that is no object", output: before(() => ["null", "[]", "7"]) },
];

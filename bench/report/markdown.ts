/** Sections as Markdown, aligned so that the same text reads well in a terminal. Pure. */
import type { Machine } from "../harness/machine.ts";
import { type Claim, figure, type Section, type Table, type Verdict, verdictOf } from "./section.ts";

export function renderTable({ head, rows }: Table): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |`;
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

function withUnit(value: number, { unit }: Claim): string {
  return unit === "" || Number.isNaN(value) ? figure(value) : `${figure(value)} ${unit}`;
}

const verdicts: Readonly<Record<Verdict, string>> = { met: "yes", close: "met (within 5 %)", missed: "**no**" };

function renderClaims(claims: readonly Claim[]): string {
  return renderTable({
    head: ["target", "limit", "measured", "met"],
    rows: claims.map((claim) => [
      claim.text,
      `${claim.sense} ${withUnit(claim.limit, claim)}`,
      withUnit(claim.measured, claim),
      verdicts[verdictOf(claim)],
    ]),
  });
}

export function renderSection(section: Section): string {
  const claims = section.claims.length === 0 ? [] : [renderClaims(section.claims)];
  return [`## ${section.title}`, section.about.join("\n"), ...section.tables.map(renderTable), ...claims].join("\n\n");
}

/** Title and introduction of a page. */
export interface Head {
  readonly title: string;
  readonly about: readonly string[];
}

/** `stolen`: the share of processor time that the hypervisor took meanwhile. */
export function renderReport(machine: Machine, stolen: number, sections: readonly Section[], head: Head): string {
  const claims = sections.flatMap((section) => section.claims);
  const missed = claims.filter((claim) => verdictOf(claim) === "missed");
  return `${[
    `# ${head.title}`,
    head.about.join("\n"),
    renderTable({
      head: ["", ""],
      rows: [
        ["Machine", `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB`],
        ["Node", `${machine.node} (V8 ${machine.v8})`],
        ["Versions", machine.versions.join(", ")],
        ["Commit, date", `${machine.commit}, ${machine.date}`],
        ["Load average at the start", figure(machine.loadAverage)],
        ["Taken by the hypervisor meanwhile", `${figure(100 * stolen)} % of the processors`],
        ["Targets met", `${claims.length - missed.length} of ${claims.length}`],
      ],
    }),
    ...sections.map(renderSection),
  ].join("\n\n")}\n`;
}

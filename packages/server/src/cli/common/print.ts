// What commands print: aligned tables, spans and counts for people. Pure.

import { visible } from "./terminal.ts";

type Cell = string | number | null;

/**
 * Columns as wide as their widest cell; numbers to the right. Lines, or `none` where there are no
 * rows.
 */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[], none: string): string[] {
  if (rows.length === 0) return [none];
  const texts = rows.map((row) => row.map(cellText));
  const widths = head.map((name, column) => Math.max(name.length, ...texts.map((row) => (row[column] ?? "").length)));
  const isNumber = head.map((_, column) => rows.every((row) => typeof row[column] !== "string"));
  const line = (cells: readonly string[]): string =>
    cells
      .map((text, column) => (isNumber[column] ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  return [line(head), ...texts.map(line)];
}

function cellText(cell: Cell): string {
  if (cell === null) return "-";
  return typeof cell === "number" ? counted(cell) : visible(cell);
}

/** 1,234,567 */
export function counted(value: number): string {
  return value.toLocaleString("en-US");
}

/** 1.2M: four characters or so, for a line that has little room. */
export function short(value: number): string {
  if (value < 1_000) return String(Math.round(value));
  const [size, unit] = value < 1_000_000 ? [1_000, "k"] : value < 1_000_000_000 ? [1_000_000, "M"] : [1e9, "G"];
  const scaled = value / size;
  return `${scaled.toFixed(scaled < 10 ? 1 : 0)}${unit}`;
}

/** $0.0105, $12.30 */
export function dollars(amount: number): string {
  return `$${amount.toFixed(amount < 10 ? 4 : 2)}`;
}

/** 20 ms, 45 s, 12 min, 3.5 h, 2.1 d */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1_000;
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5_400) return `${Math.ceil(seconds / 60)} min`;
  return seconds < 172_800 ? `${(seconds / 3_600).toFixed(1)} h` : `${(seconds / 86_400).toFixed(1)} d`;
}

export function ago(at: number | null, now: number): string | null {
  return at === null ? null : `${duration(now - at)} ago`;
}

/** `3 running, 1 done`: what there is none of is left out. */
export function listed(counts: Readonly<Record<string, number>> | ReadonlyMap<string, number>): string {
  const entries =
    counts instanceof Map ? [...counts] : Object.entries<number>(counts as Readonly<Record<string, number>>);
  const present = entries.filter(([, count]) => count > 0);
  return present.map(([name, count]) => `${counted(count)} ${name}`).join(", ");
}

/** `1 request`, `2 requests` */
export function plural(count: number, noun: string, many: string = `${noun}s`): string {
  return `${counted(count)} ${count === 1 ? noun : many}`;
}

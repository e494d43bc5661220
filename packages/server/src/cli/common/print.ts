// Formats the output of commands: aligned tables, spans and counts. Pure functions.

import { visible } from "./terminal.ts";

type Cell = string | number | null;

/**
 * A table with columns as wide as their widest cell, and numbers right-aligned. Returns its lines,
 * or `none` if there are no rows.
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

/** Formats a count as 1,234,567. */
export function counted(value: number): string {
  return value.toLocaleString("en-US");
}

/** Formats a count in about four characters, as 1.2M, for narrow lines. */
export function short(value: number): string {
  if (value < 1_000) return String(Math.round(value));
  const [size, unit] = value < 1_000_000 ? [1_000, "k"] : value < 1_000_000_000 ? [1_000_000, "M"] : [1e9, "G"];
  const scaled = value / size;
  return `${scaled.toFixed(scaled < 10 ? 1 : 0)}${unit}`;
}

/** In dollars: less would be shown as nothing. */
const LEAST_SHOWN = 0.00005;

/** Formats an amount as $0.0105 or $12.30. */
export function dollars(amount: number): string {
  if (amount > 0 && amount < LEAST_SHOWN) return "< $0.0001";
  return `$${amount.toFixed(amount < 10 ? 4 : 2)}`;
}

/** Formats a duration as 20 ms, 45 s, 12 min, 3.5 h or 2.1 d. */
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

/** Formats counts as `3 running, 1 done`; leaves out zeros. */
export function listed(counts: Readonly<Record<string, number>> | ReadonlyMap<string, number>): string {
  const entries =
    counts instanceof Map ? [...counts] : Object.entries<number>(counts as Readonly<Record<string, number>>);
  const present = entries.filter(([, count]) => count > 0);
  return present.map(([name, count]) => `${counted(count)} ${name}`).join(", ");
}

/** Formats a count with a noun, as `1 request` or `2 requests`. */
export function plural(count: number, noun: string, many: string = `${noun}s`): string {
  return `${counted(count)} ${count === 1 ? noun : many}`;
}

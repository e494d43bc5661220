// Draws a line chart as SVG text. Colours are CSS variables of the page. Pure functions.

import { counted } from "../common/print.ts";

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** The class of its colour. */
  readonly color: "first" | "second" | "soft";
  readonly isDashed?: boolean;
}

export interface Chart {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly lines: readonly Line[];
  /** Logarithmic axis, for values that differ by orders of magnitude. */
  readonly isLog?: boolean;
  /** The axis ends here at least. */
  readonly atLeast?: number;
}

const [WIDTH, HEIGHT] = [560, 330];
const [LEFT, RIGHT, TOP, BOTTOM] = [82, 14, 12, 48];
const TICKS = 5;

/** A range of values and where they are drawn. */
interface Axis {
  readonly ticks: readonly number[];
  readonly at: (value: number) => number;
}

export function drawChart(chart: Chart): string {
  const { title, xTitle, yTitle, lines, isLog = false } = chart;
  const points = lines.flatMap((line) => line.points);
  const x = linearAxis(0, Math.max(...points.map(([at]) => at)), LEFT, WIDTH - RIGHT);
  const values = points.map(([, value]) => value);
  const highest = Math.max(chart.atLeast ?? 0, ...values);
  const [bottom, top] = [HEIGHT - BOTTOM, TOP];
  const lowest = Math.min(highest || 1, ...values.filter((value) => value > 0));
  const y = isLog ? logAxis(lowest, highest || 1, bottom, top) : linearAxis(0, highest, bottom, top);
  const middle = (TOP + HEIGHT - BOTTOM) / 2;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(`${title}: ${yTitle} by ${xTitle}`)}">`,
    ...y.ticks.map(
      (value) =>
        `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${px(y.at(value))}" y2="${px(y.at(value))}"/>`,
    ),
    ...y.ticks.map((value) => text(LEFT - 8, y.at(value) + 4, tickText(value), "end")),
    ...x.ticks.map((value) => text(x.at(value), HEIGHT - BOTTOM + 18, tickText(value), "middle")),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, xTitle, "middle", "axis"),
    `<g transform="rotate(-90 14 ${middle})">${text(14, middle, yTitle, "middle", "axis")}</g>`,
    ...lines.map((line) => drawLine(line, x, y)),
    "</svg>",
  ].join("\n");
}

/** The names of the lines, each with a sample. */
export function drawLegend({ lines }: Chart): string {
  const names = lines.map(({ name, color, isDashed }) => {
    const sample = `<svg class="sample" viewBox="0 0 24 8"><line class="${classOf(color, isDashed)}" x1="0" x2="24" y1="4" y2="4"/></svg>`;
    return `<span>${sample}${escaped(name)}</span>`;
  });
  return `<div class="legend">${names.join("")}</div>`;
}

function drawLine({ name, points, color, isDashed }: Line, x: Axis, y: Axis): string {
  const at = points.map(([along, value]) => [px(x.at(along)), px(y.at(value))] as const);
  const dots = points.map(([along, value], index) => {
    const [cx, cy] = at[index] as readonly [string, string];
    return `<circle class="${color}" cx="${cx}" cy="${cy}" r="3"><title>${escaped(`${name}: ${tickText(value)} at ${tickText(along)}`)}</title></circle>`;
  });
  const shape = `<polyline class="${classOf(color, isDashed)}" points="${at.map((pair) => pair.join(",")).join(" ")}"/>`;
  return [shape, ...(color === "soft" ? [] : dots)].join("\n");
}

function classOf(color: string, isDashed = false): string {
  return isDashed ? `line ${color} dashed` : `line ${color}`;
}

function text(x: number, y: number, content: string, anchor: string, name = "tick"): string {
  return `<text class="${name}" x="${px(x)}" y="${px(y)}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function px(value: number): string {
  return value.toFixed(1);
}

function tickText(value: number): string {
  return counted(value >= 100 ? Math.round(value) : Number(value.toPrecision(3)));
}

/** Ticks at round steps. */
function linearAxis(low: number, high: number, from: number, to: number): Axis {
  const rough = (high - low) / TICKS || 1;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = magnitude * ([1, 2, 2.5, 5, 10].find((one) => one * magnitude >= rough) ?? 10);
  const count = Math.ceil((high - low) / step - 1e-9) || 1;
  const ticks = Array.from({ length: count + 1 }, (_, index) => low + index * step);
  const end = low + count * step;
  return { ticks, at: (value) => from + ((to - from) * (value - low)) / (end - low) };
}

/** Ticks at 1, 2 and 5 times the powers of ten; only at the powers if there are many. */
function logAxis(low: number, high: number, from: number, to: number): Axis {
  const [least, most] = [low < high ? low : high / 2, high].map(Math.log10) as [number, number];
  const parts = most - least > 2 ? [1] : [1, 2, 5];
  const all: number[] = [];
  for (let power = Math.floor(least) - 1; power <= Math.ceil(most); power += 1) {
    for (const part of parts) all.push(part * 10 ** power);
  }
  const start = all.findLast((tick) => tick <= low) ?? low;
  const end = all.find((tick) => tick >= high) ?? high;
  const span = Math.log(end / start) || 1;
  const at = (value: number): number => from + ((to - from) * Math.log(Math.max(value, start) / start)) / span;
  return { ticks: all.filter((tick) => tick >= start && tick <= end), at };
}

export function escaped(content: string): string {
  return content.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

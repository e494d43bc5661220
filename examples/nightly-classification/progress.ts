// What the terminal shows while the work goes on: one line that is drawn again each second, or, where the output is no
// terminal, one line every ten seconds and only when something has changed.

import type { Dispatcher, DispatcherStats } from "batchwise/dispatch";

const BAR = " | ";
const DRAW_MS = 1_000;
const PRINT_MS = 10_000;
/** Of a terminal that does not tell its width. */
const COLUMNS = 80;

/** What the line is made of. */
export interface Figures {
  readonly total: number;
  /** Results in the file, and how many of them this run has added. */
  readonly written: number;
  readonly added: number;
  readonly elapsedMs: number;
}

export function showProgress(dispatcher: Dispatcher, figures: () => Figures): () => Promise<void> {
  return show(async () => {
    // A store that does not answer now is asked again next time.
    const stats = await dispatcher.stats().catch(() => null);
    return stats === null ? null : progressParts(stats, figures());
  });
}

/** Draws until it is told to stop, and then once more. The parts are in the order of their weight; null draws nothing. */
export function show(parts: () => Promise<readonly string[] | null>): () => Promise<void> {
  const out = process.stderr;
  let last = "";
  let drawing: Promise<void> = Promise.resolve();
  const draw = async (): Promise<void> => {
    const now = await parts();
    if (now === null) return;
    const line = out.isTTY ? fitting(now, (out.columns || COLUMNS) - 1) : now.join(BAR);
    if (out.isTTY) out.write(`\r${line}\x1b[K`);
    else if (line !== last) out.write(`${line}\n`);
    last = line;
  };
  const timer = setInterval(
    () => {
      drawing = drawing.then(draw);
    },
    out.isTTY ? DRAW_MS : PRINT_MS,
  );
  return async () => {
    clearInterval(timer);
    await drawing;
    await draw();
    if (out.isTTY) out.write("\n");
  };
}

/** As many whole parts as there is room for. */
function fitting(parts: readonly string[], width: number): string {
  let line = parts[0] ?? "";
  for (const part of parts.slice(1)) {
    if (line.length + BAR.length + part.length > width) break;
    line += BAR + part;
  }
  return line.slice(0, width);
}

/** Pure. How long the rest takes at the rate of this run, that rate, requests by state, batches by state. */
function progressParts({ inBatches, outcomes, batches }: DispatcherStats, figures: Figures): string[] {
  const { total, written, added, elapsedMs } = figures;
  const ended = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const waiting = Math.max(0, total - inBatches - ended);
  const rate = elapsedMs > 0 ? (added * 1_000) / elapsedMs : 0;
  return [
    `${written} of ${total} done`,
    written === total ? "finished" : `ETA ${rate > 0 ? duration((total - written) / rate) : "after the first batch"}`,
    `${rate.toFixed(rate < 10 ? 1 : 0)}/s`,
    listed({ waiting, "in batches": inBatches, ...outcomes }) || "nothing stored",
    `batches: ${listed(batches) || "none yet"}`,
  ];
}

/** `3 running, 1 done`: what there is none of is left out. */
function listed(counts: Readonly<Record<string, number>>): string {
  const present = Object.entries(counts).filter(([, count]) => count > 0);
  return present.map(([name, count]) => `${count} ${name}`).join(", ");
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}

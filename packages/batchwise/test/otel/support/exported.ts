// The output of OpenTelemetry's Prometheus exporter for a batcher and a dispatcher on which every
// event has happened once.

import { type BatchContext, createBatcher } from "batchwise";
import { instrument, instrumentDispatcher } from "batchwise/otel";
import { Teller } from "./every-event.ts";
import { type Sample, samplesIn } from "./prometheus-text.ts";
import { metrics } from "./telemetry.ts";

/** A series of the text, with any labels. Names of histograms are without their endings. */
export interface ExportedSeries {
  readonly name: string;
  readonly type: string;
  readonly unit: string;
  readonly help: string;
  /** The labels that distinguish its samples, except the buckets' label. */
  readonly labels: readonly string[];
}

export interface Exported {
  readonly series: readonly ExportedSeries[];
  readonly samples: readonly Sample[];
  /** The text of a scrape. */
  readonly text: string;
}

export async function exported(): Promise<Exported> {
  const { meter, text } = metrics();
  await workOnce(meter);
  const dispatcher = new Teller();
  instrumentDispatcher(dispatcher, { meter, tracer: null });
  dispatcher.tellAll();
  dispatcher.tellRefusals();
  await null;
  const all = await text();
  const samples = samplesIn(all);
  return { series: seriesIn(all, samples), samples, text: all };
}

type AnyMeter = ReturnType<typeof metrics>["meter"];

/** One batcher with a result, a failure, an equal item and one from the cache. */
async function workOnce(meter: AnyMeter): Promise<void> {
  const handler = (words: string[], _context: BatchContext): string[] => {
    if (words.includes("bad")) throw new Error("bad");
    return words;
  };
  const dedupe = (word: string): string => word;
  const all = { name: "words", key: dedupe, dedupe, cache: new Map(), maxBatchCost: 100, targetLatencyMs: 10_000 };
  const batcher = createBatcher(handler, { ...all, cost: (word) => word.length, oversize: "reject" });
  instrument(batcher, { meter, tracer: null, keyLabel: true });
  await batcher.submitMany(["good", "good"]);
  await batcher.submitSettled(["good", "bad", "long".repeat(100)]);
  for (const word of ["one", "two", "three", "four"]) await batcher.submit(word);
  await batcher.idle();
}

function seriesIn(text: string, samples: readonly Sample[]): ExportedSeries[] {
  const lines = text.split("\n");
  const noted = (word: string, name: string): string => {
    const start = `# ${word} ${name} `;
    return lines.find((line) => line.startsWith(start))?.slice(start.length) ?? "";
  };
  const names = lines.filter((line) => line.startsWith("# TYPE ")).map((line) => line.split(" ")[2] ?? "");
  return names
    .filter((name) => name !== "target_info")
    .map((name) => ({
      name,
      type: noted("TYPE", name),
      unit: noted("UNIT", name),
      help: noted("HELP", name),
      labels: labelsOf(name, samples),
    }));
}

/** `name` may be a histogram's. */
export function labelsOf(name: string, samples: readonly Sample[]): string[] {
  const own = samples.filter((one) => one.name === name || one.name === `${name}_count`);
  const labels = new Set(own.flatMap((one) => Object.keys(one.labels)));
  return [...labels].filter((label) => !label.startsWith("otel_scope_") && label !== "le").sort();
}

// The tables of docs/metrics.md, compared with the exported series.

import { describe, expect, test } from "vitest";
import { textOf } from "../house/repository.ts";
import { type ExportedSeries, exported } from "./support/exported.ts";

const page = textOf("docs/metrics.md");

/** The rows of the tables below a heading, as lists of cells. */
function rowsBelow(heading: string): string[][] {
  const [, after = ""] = page.split(`## ${heading}\n`);
  const [section = ""] = after.split(/^## /m);
  const lines = section.split("\n").filter((line) => line.startsWith("| `"));
  return lines.map((line) => line.slice(2, -2).split(" | "));
}

const code = (text: string): string => `\`${text}\``;

function rowOf({ name, type, unit, help, labels }: ExportedSeries): string[] {
  const of = labels
    .filter((label) => label !== "batchwise_batcher_name")
    .map(code)
    .join(", ");
  return [code(name), type, unit, of === "" ? "-" : of, help];
}

describe("docs/metrics.md", () => {
  test("lists every series that is exported, with its type, unit and labels", async () => {
    const { series } = await exported();
    const rows = series.map(rowOf);
    const isDispatcher = ([name = ""]: string[]) => name.startsWith("`batchwise_dispatch_");
    expect(rowsBelow("Series of a batcher")).toEqual(rows.filter((row) => !isDispatcher(row)));
    expect(rowsBelow("Series of a dispatcher")).toEqual(rows.filter(isDispatcher));
  });

  test("gives each series of Ray's @serve.batch a counterpart that is exported, by batcher", async () => {
    const { series } = await exported();
    const rows = rowsBelow("Coming from Ray Serve");
    expect(rows.map(([ray]) => ray)).toEqual(
      [
        "serve_batch_wait_time_ms",
        "serve_batch_execution_time_ms",
        "serve_batch_queue_length",
        "serve_batch_utilization_percent",
        "serve_actual_batch_size",
        "serve_batches_processed",
      ].map((name) => code(`ray_${name}`)),
    );
    for (const [ray = "", ours = ""] of rows) {
      const own = series.find(({ name }) => code(name) === ours);
      expect({ ray, labels: own?.labels }).toEqual({ ray, labels: expect.arrayContaining(["batchwise_batcher_name"]) });
    }
  });
});

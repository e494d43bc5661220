// The names of series in Prometheus.

import { BATCHER_SERIES } from "../../packages/batchwise/src/otel/batcher-series.ts";
import { DISPATCHER_SERIES, STORE_SERIES } from "../../packages/batchwise/src/otel/dispatcher-series.ts";
import type { Series } from "../../packages/batchwise/src/otel/series.ts";

const ALL: readonly Series[] = [BATCHER_SERIES, DISPATCHER_SERIES, STORE_SERIES].flatMap((table) =>
  Object.values(table),
);

/**
 * From the name without units to the name with units; both without the endings of counters and
 * histograms.
 */
const WITH_UNITS: ReadonlyMap<string, string> = new Map(
  ALL.map((series) => {
    const name = series.name.replaceAll(".", "_");
    return [name, name + suffixOf(series)];
  }),
);

/**
 * OpenTelemetry's rules for Prometheus: seconds are named, `{things}` are not, `/s` is per second,
 * and 1 is a ratio in a gauge.
 */
function suffixOf({ unit, kind }: Series): string {
  if (unit === "s") return "_seconds";
  if (unit.endsWith("/s")) return "_per_second";
  return unit === "1" && kind === "observedGauge" ? "_ratio" : "";
}

/** The text with the names of a pipeline that adds units. Labels are not changed. */
export function withUnits(text: string): string {
  return text.replaceAll(/\bbatchwise_[a-z_]+\b/g, (name) => {
    const [, base = name, ending = ""] = /^(.*?)(_total|_bucket|_sum|_count)?$/.exec(name) ?? [];
    return (WITH_UNITS.get(base) ?? base) + ending;
  });
}

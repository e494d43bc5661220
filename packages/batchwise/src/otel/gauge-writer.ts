// Writes gauges whose labels come and go. The SDK repeats the last value of a series, so a series
// without a new value is written as 0 once and then dropped. Several values for one series become
// their maximum, or their sum.

import type { Attributes, BatchObservableResult, Observable } from "@opentelemetry/api";
import { labelsText } from "./series.ts";

/** Sets the value of a gauge for this collection. */
export type TellGauge = (gauge: Observable, value: number, attributes: Attributes) => void;

interface Told {
  readonly attributes: Attributes;
  value: number;
}

type ByLabels = Map<string, Told>;

export class GaugeWriter {
  readonly #added: readonly Observable[];
  #before: Map<Observable, ByLabels> = new Map();

  /** `added`: the gauges whose values are summed. */
  constructor(added: readonly Observable[] = []) {
    this.#added = added;
  }

  /** Calls `tellAll` with a function that sets values, and writes them. */
  write(result: BatchObservableResult, tellAll: (tell: TellGauge) => void): void {
    const now: Map<Observable, ByLabels> = new Map();
    tellAll((gauge, value, attributes) => {
      const byLabels = now.get(gauge) ?? new Map();
      now.set(gauge, byLabels);
      const labels = labelsText(attributes);
      const told = byLabels.get(labels);
      if (told === undefined) byLabels.set(labels, { attributes, value });
      else told.value = this.#added.includes(gauge) ? told.value + value : Math.max(told.value, value);
    });
    for (const [gauge, byLabels] of now) {
      for (const { value, attributes } of byLabels.values()) result.observe(gauge, value, attributes);
    }
    for (const [gauge, byLabels] of this.#before) {
      for (const [labels, { attributes }] of byLabels) {
        if (!now.get(gauge)?.has(labels)) result.observe(gauge, 0, attributes);
      }
    }
    this.#before = now;
  }
}

// Writes gauges whose labels come and go. The SDK shows the last value of a series until there is another, so what was
// written once and is not any more is written as 0.

import type { Attributes, BatchObservableResult, Observable } from "@opentelemetry/api";

type Written = Map<string, Attributes>;

export class GaugeWriter {
  #before: Map<Observable, Written> = new Map();
  #now: Map<Observable, Written> = new Map();

  /** Calls back with a function that writes a value, then writes 0 for what is missing. */
  write(
    result: BatchObservableResult,
    tell: (observe: (gauge: Observable, value: number, attributes: Attributes) => void) => void,
  ): void {
    this.#now = new Map();
    tell((gauge, value, attributes) => {
      this.#remember(gauge, attributes);
      result.observe(gauge, value, attributes);
    });
    for (const [gauge, written] of this.#before) {
      for (const [id, attributes] of written) {
        if (this.#now.get(gauge)?.has(id)) continue;
        this.#remember(gauge, attributes);
        result.observe(gauge, 0, attributes);
      }
    }
    this.#before = this.#now;
  }

  #remember(gauge: Observable, attributes: Attributes): void {
    const written = this.#now.get(gauge) ?? new Map();
    this.#now.set(gauge, written);
    written.set(JSON.stringify(attributes), attributes);
  }
}

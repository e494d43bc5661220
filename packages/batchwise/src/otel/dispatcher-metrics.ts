// The instruments of one meter for dispatchers, and one reader for all their gauges. Dispatchers on
// the same store write the same series, so one of them that ends must not write 0 over the others'
// values.

import type { Meter } from "@opentelemetry/api";
import type { DispatcherGauges } from "./dispatcher-gauges.ts";
import { DISPATCHER_SERIES, type GaugeSeries, PROCESS_SERIES, STORE_SERIES } from "./dispatcher-series.ts";
import { ErrorTypes } from "./error-type.ts";
import { GaugeWriter } from "./gauge-writer.ts";
import { type Instruments, makeInstruments, observedOf } from "./series.ts";
import { ofMeter } from "./shared.ts";

const GAUGES: GaugeSeries = { ...PROCESS_SERIES, ...STORE_SERIES };

export class DispatcherMetrics {
  readonly counters: Instruments<typeof DISPATCHER_SERIES>;
  readonly gauges: Instruments<GaugeSeries>;
  readonly errorTypes: ErrorTypes = new ErrorTypes();
  readonly #shown: Set<DispatcherGauges> = new Set();
  readonly #writer: GaugeWriter;

  constructor(meter: Meter) {
    this.counters = makeInstruments(meter, DISPATCHER_SERIES);
    this.gauges = makeInstruments(meter, GAUGES);
    this.#writer = new GaugeWriter([this.gauges.running]);
    meter.addBatchObservableCallback(
      (result) => {
        this.#writer.write(result, (tell) => {
          for (const gauges of this.#shown) gauges.observe(tell);
        });
      },
      observedOf(GAUGES, this.gauges),
    );
  }

  /**
   * Shows these gauges until the returned function is called. They are 0 after that, and dropped.
   */
  show(gauges: DispatcherGauges): () => void {
    this.#shown.add(gauges);
    return () => {
      this.#shown.delete(gauges);
    };
  }
}

/** Returns the same object for each call with the same meter. */
export function dispatcherMetricsOf(meter: Meter): DispatcherMetrics {
  return ofMeter(meter, "dispatchers", (own) => new DispatcherMetrics(own));
}

// The options of `instrument` and `instrumentDispatcher`, checked once.

import { type Attributes, type Meter, metrics, type Tracer, trace } from "@opentelemetry/api";
import { aBoolean, check, checkIsObject, objectWith, refuseUnknown } from "../core/contract/validate.ts";

/** The meter and tracer, and labels. */
export interface TelemetryOptions {
  /**
   * Makes the metrics. Default: the meter of the global provider at the time of the call. null: no
   * metrics.
   */
  readonly meter?: Meter | null | undefined;
  /** Makes the spans. Default: the tracer of the global provider. null: no spans. */
  readonly tracer?: Tracer | null | undefined;
  /** More labels for every series and span. */
  readonly attributes?: Attributes | undefined;
}

/** Options of `instrument`. */
export interface InstrumentOptions extends TelemetryOptions {
  /**
   * True: series of batches have the batch's `key` as a label. Default false, because each key
   * creates its own series.
   */
  readonly keyLabel?: boolean | undefined;
}

/** Options of `instrumentDispatcher`. */
export interface InstrumentDispatcherOptions extends TelemetryOptions {
  /** True (default): tokens, prices and ended requests have their tenant as a label. */
  readonly tenantLabel?: boolean | undefined;
}

/** Ends an instrumentation. Also a `Disposable`, for `using`. */
export interface Detach {
  (): void;
  [Symbol.dispose](): void;
}

/** The resolved options. */
export interface ResolvedTelemetry {
  readonly meter: Meter | null;
  readonly tracer: Tracer | null;
  /**
   * Identifies the tracer. Before a provider is registered, each call makes another global tracer.
   */
  readonly tracerId: unknown;
  readonly attributes: Attributes;
  readonly hasLabel: boolean;
}

/** The name of meter and tracer: OpenTelemetry's "instrumentation scope". */
const SCOPE = "batchwise";

const aMeter = objectWith("createHistogram", "createCounter", "createObservableGauge", "addBatchObservableCallback");
const aTracer = objectWith("startSpan");

/**
 * `label`: the option that switches a label on or off; `byDefault`: its default. Throws
 * INVALID_OPTION.
 */
export function resolveTelemetry(given: unknown, label: string, byDefault: boolean): ResolvedTelemetry {
  checkIsObject("options", given);
  const options: Readonly<Record<string, unknown>> = { ...given };
  refuseUnknown(options, ["meter", "tracer", "attributes", label]);
  const { meter = metrics.getMeter(SCOPE), tracer = trace.getTracer(SCOPE), attributes = {} } = options;
  const hasLabel = options[label] ?? byDefault;
  if (meter !== null) check("meter", aMeter, meter);
  if (tracer !== null) check("tracer", aTracer, tracer);
  checkIsObject("attributes", attributes);
  check(label, aBoolean, hasLabel);
  return {
    meter: meter as Meter | null,
    tracer: tracer as Tracer | null,
    tracerId: options.tracer === undefined ? "global" : tracer,
    attributes: { ...(attributes as Attributes) },
    hasLabel: hasLabel as boolean,
  };
}

/** A function that calls all of these, once. */
export function detachAll(ends: readonly (() => void)[]): Detach {
  let left = ends;
  const detach = (): void => {
    const due = left;
    left = [];
    for (const end of due) end();
  };
  return Object.assign(detach, { [Symbol.dispose]: detach });
}

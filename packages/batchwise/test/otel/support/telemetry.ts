// OpenTelemetry's own SDK, set up for one test: metrics as the text of its Prometheus exporter,
// spans in memory.

import { type Context, context, type Meter, type SpanContext, type Tracer, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { onTestFinished } from "vitest";
import { type Sample, samplesIn } from "./prometheus-text.ts";

export interface Metrics {
  readonly meter: Meter;
  readonly exporter: PrometheusExporter;
  /** The text of a scrape. */
  readonly text: () => Promise<string>;
  readonly samples: () => Promise<Samples>;
}

/** The samples of one scrape. */
export class Samples {
  readonly all: readonly Sample[];

  constructor(text: string) {
    this.all = samplesIn(text);
  }

  /** The sum of a metric over the series with these labels; undefined if there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const wanted = Object.entries(labels);
    const found = this.all.filter(
      (one) => one.name === name && wanted.every(([key, value]) => one.labels[key] === value),
    );
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }
}

export function metrics(): Metrics {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  onTestFinished(() => provider.shutdown());
  const text = async (): Promise<string> => {
    const { resourceMetrics, errors } = await exporter.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    return new PrometheusSerializer().serialize(resourceMetrics);
  };
  return { meter: provider.getMeter("batchwise"), exporter, text, samples: async () => new Samples(await text()) };
}

export interface Spans {
  readonly tracer: Tracer;
  /** Ended spans, in the order of their ends. */
  readonly ended: () => readonly ReadableSpan[];
  /** Runs the callback within a span of this name; returns the span's ids. */
  readonly within: (name: string, callback: () => void) => SpanContext;
}

export function spans(): Spans {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  onTestFinished(async () => {
    context.disable();
    await provider.shutdown();
  });
  const tracer = provider.getTracer("batchwise");
  const within = (name: string, callback: () => void): SpanContext => {
    const span = tracer.startSpan(name);
    const active: Context = trace.setSpan(context.active(), span);
    context.with(active, callback);
    span.end();
    return span.spanContext();
  };
  return { tracer, ended: () => exporter.getFinishedSpans(), within };
}

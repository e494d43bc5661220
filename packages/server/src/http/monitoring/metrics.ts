/**
 * `GET /metrics`, for Prometheus. `batchwise/otel` defines the batcher's series, under the model's
 * name; the others are the service's own.
 *
 * Guarantees: reading never waits for the model. No text, key or caller is in the output, and only
 * known paths.
 */

import type { Counter, Histogram } from "@opentelemetry/api";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { instrument } from "batchwise/otel";
import type { Context } from "hono";
import type { Embedder } from "../../models/embedder.ts";
import type { Ending } from "./endings.ts";

/** The buckets of OpenTelemetry's conventions for HTTP. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Functions that are called on each read. */
interface Readings {
  readonly answersTexts: () => boolean;
  readonly droppedConnections: () => number;
}

export class ServiceMetrics {
  readonly #exporter: PrometheusExporter = new PrometheusExporter({ preventServerStart: true });
  /** Without labels of the program and of the library, which would be the same in all series. */
  readonly #serializer: PrometheusSerializer = new PrometheusSerializer("", false, undefined, true, true);
  readonly #routes: readonly string[];
  readonly #durations: Histogram;
  readonly #texts: Counter;
  readonly #tokens: Counter;

  /** `routes`: the known paths; a path that ends in `/*` stands for all paths below it. */
  constructor(embedder: Embedder, routes: readonly string[], { answersTexts, droppedConnections }: Readings) {
    this.#routes = routes;
    const meter = new MeterProvider({ readers: [this.#exporter] }).getMeter("@batchwise/server");
    instrument(embedder.batcher, { meter, tracer: null });
    this.#durations = meter.createHistogram("http.server.request.duration", {
      unit: "s",
      description: "From a request's headers to the end of its answer.",
      advice: { explicitBucketBoundaries: SECONDS },
    });
    this.#texts = meter.createCounter("batchwise.server.texts", {
      unit: "{text}",
      description: "Texts that requests asked for, answered or not.",
    });
    this.#tokens = meter.createCounter("batchwise.server.tokens", {
      unit: "{token}",
      description: "Tokens of these texts.",
    });
    const restarts = { unit: "{restart}", description: "Threads of the model that died and were replaced." };
    meter.createObservableCounter("batchwise.server.restarts", restarts).addCallback((result) => {
      result.observe(embedder.restarts);
    });
    const dropped = { unit: "{connection}", description: "Connections closed because too many were open." };
    meter.createObservableCounter("batchwise.server.connections.dropped", dropped).addCallback((result) => {
      result.observe(droppedConnections());
    });
    const ready = { unit: "1", description: "1 while texts can be answered, else 0." };
    meter.createObservableGauge("batchwise.server.ready", ready).addCallback((result) => {
      result.observe(answersTexts() ? 1 : 0);
    });
  }

  record(context: Context, { status, ms }: Ending): void {
    const { method, path } = context.req;
    const route = this.#routeOf(path);
    this.#durations.record(ms / 1_000, {
      "http.request.method": METHODS.includes(method) ? method : "_OTHER",
      "http.response.status_code": status,
      ...(route === undefined ? {} : { "http.route": route }),
    });
    const work = context.get("work");
    if (work === undefined) return;
    this.#texts.add(work.texts);
    this.#tokens.add(work.tokens);
  }

  async answer(): Promise<Response> {
    const { resourceMetrics } = await this.#exporter.collect();
    return new Response(this.#serializer.serialize(resourceMetrics), {
      headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
    });
  }

  #routeOf(path: string): string | undefined {
    return this.#routes.find((route) => {
      return route.endsWith("/*") ? path.startsWith(route.slice(0, -1)) : path === route;
    });
  }
}

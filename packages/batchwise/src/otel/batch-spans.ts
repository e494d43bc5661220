// Spans of batches. A batch serves callers of many traces, so its span starts a trace of its own
// and links to the span that was active in each caller's submit. While the handler runs, the
// batch's span is active, so the handler's spans are its children.

import {
  type Attributes,
  context,
  isSpanContextValid,
  type Link,
  type Span,
  type SpanContext,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { describe, isError } from "../core/contract/errors.ts";
import type { BatchEvent } from "../core/contract/events.ts";
import type { BatchWatch } from "../core/contract/observer.ts";
import { BATCHER_LABELS } from "./batcher-series.ts";
import { errorType } from "./error-type.ts";
import type { Observer, StartedBatch } from "./observers.ts";
import { toSeconds } from "./series.ts";

/** Makes a span of each batch. */
export class SpansObserver implements Observer {
  readonly capture: () => unknown = activeSpan;
  readonly #tracer: Tracer;
  readonly #name: string;
  readonly #attributes: Attributes;

  constructor(tracer: Tracer, name: string, attributes: Attributes) {
    this.#tracer = tracer;
    this.#name = name;
    this.#attributes = attributes;
  }

  started(batch: StartedBatch): BatchWatch {
    return new BatchSpan(this.#tracer, this.#name, batch, this.#attributes);
  }

  settled(): void {}

  spared(): void {}
}

/** The ids of the active span at the call. Keeps neither the span nor its context. */
function activeSpan(): SpanContext | undefined {
  const spanContext = trace.getSpanContext(context.active());
  return spanContext !== undefined && isSpanContextValid(spanContext) ? spanContext : undefined;
}

class BatchSpan implements BatchWatch {
  readonly #span: Span;
  #calls = 0;

  constructor(tracer: Tracer, name: string, batch: StartedBatch, attributes: Attributes) {
    this.#span = tracer.startSpan(`batchwise ${name}`, {
      root: true,
      links: linksTo(batch.captured as readonly SpanContext[]),
      attributes: {
        ...attributes,
        [BATCHER_LABELS.reason]: batch.reason,
        "batchwise.batch.id": batch.id,
        "batchwise.batch.size": batch.size,
        "batchwise.batch.cost": batch.cost,
        "batchwise.batch.wait": toSeconds(batch.waitMs),
        ...(batch.key === undefined ? {} : { [BATCHER_LABELS.key]: batch.key }),
      },
    });
  }

  around<Answer>(call: () => Answer): Answer {
    this.#calls += 1;
    return context.with(trace.setSpan(context.active(), this.#span), call);
  }

  ended({ error }: BatchEvent): void {
    try {
      this.#span.setAttribute("batchwise.batch.calls", this.#calls);
      if (error !== undefined) this.#failed(error);
    } finally {
      this.#span.end();
    }
  }

  #failed(error: unknown): void {
    const { exception, message } = readable(error);
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message });
    this.#span.setAttribute(BATCHER_LABELS.error, errorType(error));
    this.#span.recordException(exception);
  }
}

interface Readable {
  readonly exception: Error | string;
  readonly message: string;
}

/** The error, and its message. A text stands for one that is not an error or cannot be read. */
function readable(error: unknown): Readable {
  try {
    const message = isError(error) ? error.message : String(error);
    return { exception: isError(error) ? error : message, message };
  } catch {
    return { exception: describe(error), message: describe(error) };
  }
}

/** One link per span: the items of one call have the same span. */
function linksTo(spans: readonly SpanContext[]): Link[] {
  const byId = new Map(spans.map((span) => [`${span.traceId}-${span.spanId}`, span]));
  return [...byId.values()].map((span) => ({ context: span }));
}

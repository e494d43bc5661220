// A span for each batch that ends: from the moment it was formed, hours ago and perhaps in another
// process, to now. It begins a trace of its own; the requests in it came from many, and the store
// does not keep those.

import { type Attributes, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import type { BatchEvent } from "../dispatch/contract/events.ts";
import { DISPATCHER_LABELS as LABEL } from "./dispatcher-series.ts";

export function recordBatch(tracer: Tracer, { batch, ageMs }: BatchEvent, attributes: Attributes): void {
  const { createdAt, providerBatchId, lastError } = batch;
  const span = tracer.startSpan(`batchwise batch at ${batch.account}`, {
    root: true,
    startTime: createdAt,
    attributes: {
      ...attributes,
      [LABEL.account]: batch.account,
      [LABEL.endpoint]: batch.endpoint,
      [LABEL.model]: batch.model,
      "batchwise.batch.id": batch.key,
      "batchwise.batch.requests": batch.requests,
      "batchwise.batch.bytes": batch.bytes,
      "batchwise.batch.tokens": batch.tokens,
      "batchwise.batch.attempts": batch.submitAttempt,
      ...(providerBatchId === null ? {} : { "batchwise.provider.batch.id": providerBatchId }),
    },
  });
  if (lastError !== null) {
    span.setAttribute(LABEL.error, lastError.code);
    span.setStatus({ code: SpanStatusCode.ERROR, message: lastError.message });
  }
  span.end(createdAt + ageMs);
}

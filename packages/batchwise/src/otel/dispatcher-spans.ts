// Records a span for each batch that ends: from the time when it was formed, perhaps hours ago and
// in another process, until now. It starts a trace of its own, because its requests come from many
// traces, which the store does not keep.

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

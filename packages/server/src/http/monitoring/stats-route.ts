/**
 * `GET /stats`: the current state of the batcher, as JSON for programs and as a live page for
 * browsers.
 *
 * Guarantees: reading never waits for the model. Infinite limits appear as the string "Infinity".
 */

import type { Embedder } from "../../models/embedder.ts";
import type { RateMeter } from "../../models/rate-meter.ts";
import { STATS_PAGE } from "./stats-page.ts";

export interface StatsSources {
  readonly embedder: Embedder;
  readonly requests: RateMeter;
  readonly startedAt: Date;
}

export function answerStats(request: Request, sources: StatsSources): Response {
  const headers = { "cache-control": "no-store", vary: "accept" };
  if (wantsPage(request.headers.get("accept"))) {
    return new Response(STATS_PAGE, { headers: { ...headers, "content-type": "text/html; charset=utf-8" } });
  }
  const text = JSON.stringify(snapshot(sources), (_, value: unknown) =>
    typeof value === "number" && !Number.isFinite(value) ? String(value) : value,
  );
  return new Response(text, { headers: { ...headers, "content-type": "application/json" } });
}

/** Browsers accept text/html by name; curl and fetch accept anything and get JSON. */
function wantsPage(accept: string | null): boolean {
  return accept?.split(",").some((part) => part.trim().startsWith("text/html")) ?? false;
}

function snapshot({ embedder, requests, startedAt }: StatsSources): Record<string, unknown> {
  const { maxBatchSize, maxWaitMs, preferredBatchSize, concurrency, maxQueueSize, maxBatchCost, targetLatencyMs } =
    embedder.batcher.options;
  const limits = { maxBatchSize, maxBatchCost, maxWaitMs, preferredBatchSize, concurrency, maxQueueSize };
  return {
    model: embedder.model,
    ready: embedder.ready,
    warnings: embedder.warnings,
    startedAt: startedAt.toISOString(),
    uptimeMs: Math.round(Date.now() - startedAt.getTime()),
    options: { ...limits, targetLatencyMs },
    workers: { count: embedder.workers, restarts: embedder.restarts },
    perSecond: { requests: requests.perSecond(), ...embedder.rates() },
    recentLatencyMs: embedder.recentLatencyMs(),
    recentRuns: embedder.recentRuns(),
    stats: embedder.batcher.stats(),
    running: embedder.batcher.inspect(),
  };
}

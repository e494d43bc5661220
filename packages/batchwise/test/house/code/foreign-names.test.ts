// The names of other libraries' options, read from the pages for users of those libraries: each
// error names our option.

import { batch, batched, batchStream, createBatcher, createTokenBatcher, rateLimiter } from "batchwise";
import { createDispatcher, memoryStore, runBatch } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { batchTensors } from "batchwise/tensor";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { thrownBy } from "../../support.ts";
import { filesMatching, textOf } from "../repository.ts";

const PAGES = filesMatching("docs/coming-from/*.md");

/**
 * What the tables name besides options and classes: methods, figures, values, fields of a request.
 * By page.
 */
const OTHER_THINGS: Readonly<Record<string, string>> = {
  batched:
    "avg_batch_size avg_processing_time batch_iter batch_iter_by_length bucket_batch_iter cache_stats clear ensure_async first func get is_method set stack_features stats total_batches total_processed unstack_features cache",
  batshit: "maxBatchSizeScheduler windowedFiniteBatchScheduler name",
  bentoml: "bentoml_service_adaptive_batch_size",
  "bullmq-pro": "",
  dataloader: "maxBatchSize name cache",
  flyte:
    "avg_batch_cost avg_batch_size await busy_time_s idle_time_s is_running stats submit total_batch_cost total_batches total_completed total_submitted utilization",
  inferflow:
    "avg_batch_size avg_latency_ms avg_processing_time_ms batch_sizes current_batch_size current_queue_size infer infer_batch is_running parallel processing_times rejected_requests retry sequence skip_on_error task total_batches total_latency_ms total_requests",
  langbatch: "custom_id embedding_batch get_status parallel_tool_calls start temperature",
  "p-queue": "add concurrency pending",
  pacer: "errorCount executeCount isExecuting isPending key setOptions status successCount totalItemsProcessed",
  "promise-batcher": "idling maxBatchSize",
  "ray-serve":
    "next self serve_actual_batch_size serve_batch_execution_time_ms serve_batch_queue_length serve_batch_utilization_percent serve_batch_wait_time_ms serve_batches_processed set_batch_wait_timeout_s set_max_batch_size",
  triton: "nv_inference_exec_count",
};

/** The names that a page's tables have on their left side, alone, or as the name of a value. */
function namesIn(page: string): string[] {
  const names = new Set<string>();
  for (const line of textOf(page).split("\n")) {
    if (!line.startsWith("|")) continue;
    for (const [, span = ""] of (line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)) {
      for (const [, name = ""] of span.matchAll(/\b([A-Za-z_]\w*)(?=\s*[=:](?!=))/g)) names.add(name);
      if (/^[A-Za-z_]\w*$/.test(span)) names.add(span);
    }
  }
  // Options begin with a small letter.
  return [...names].filter((name) => /^[a-z]/.test(name));
}

const echo = (items: number[]): number[] => items;
const options = (name: string): never => ({ [name]: 1 }) as never;

/** What each entry point says about an option of this name. */
const ENTRY_POINTS: Readonly<Record<string, (name: string) => unknown>> = {
  batch: (name) => batch(echo, options(name)),
  createBatcher: (name) => createBatcher(echo, options(name)),
  createTokenBatcher: (name) => createTokenBatcher(echo, options(name)),
  batchStream: (name) => batchStream(() => [], options(name)),
  batched: (name) => batched(options(name)),
  batchTensors: (name) => batchTensors(() => ({}), options(name)),
};

const saidBy = (make: (name: string) => unknown, name: string): string => String(thrownBy(() => make(name)));

/** Our word for it stands in the message, or the same word in our spelling. */
function isAnswered(message: string, name: string): boolean {
  const same = /did you mean `(\w+)`\?$/.exec(message)?.[1];
  if (same !== undefined) return same.toLowerCase() === name.replaceAll("_", "").toLowerCase();
  return /Unknown option `[^`]+`: |it does not apply to a stream/.test(message);
}

describe.each(PAGES)("%s", (page) => {
  const key = page.slice("docs/coming-from/".length, -".md".length);
  const others = new Set((OTHER_THINGS[key] ?? "").split(" "));
  const names = namesIn(page).filter((name) => !others.has(name));
  const points = key === "langbatch" ? {} : ENTRY_POINTS;

  test("names options at all, and nothing is left out here that it does not name", () => {
    expect(names.length).toBeGreaterThan(0);
    const named = namesIn(page);
    expect([...others].filter((name) => name !== "" && !named.includes(name))).toEqual([]);
  });

  test.each(Object.keys(points))("each option that it names is answered by %s", (point) => {
    const make = ENTRY_POINTS[point] as (name: string) => unknown;
    const said = names.map((name) => [name, saidBy(make, name)] as const);
    expect(said.filter(([name, message]) => !isAnswered(message, name))).toEqual([]);
  });
});

test("the options that LangBatch names are answered by the dispatcher and by runBatch", () => {
  const page = "docs/coming-from/langbatch.md";
  const names = namesIn(page).filter((name) => !OTHER_THINGS.langbatch?.split(" ").includes(name));
  const client = new OpenAI({ apiKey: "none" });
  const accounts = [openaiAccount({ client })];
  for (const name of [...names, "batch_process_func"]) {
    const given = { store: memoryStore(), accounts, [name]: 1 };
    expect(saidBy(() => createDispatcher(given as never), name)).toContain(`Unknown option \`${name}\`: `);
    expect(saidBy(() => runBatch({ ...given, job: "job", requests: [] } as never), name)).toContain(`\`${name}\`: `);
  }
  expect(saidBy((name) => openaiAccount({ client, [name]: 1 } as never), "wait_time")).toContain("`pollMs` here");
});

describe("the names that newcomers bring", () => {
  test.each([
    [
      "timeout_ms",
      "Unknown option `timeout_ms`: it is `maxWaitMs` here: the longest wait for a fuller batch, in ms. `timeoutMs` is an item's deadline",
    ],
    ["batch_wait_timeout_s", "`maxWaitMs` here"],
    ["batchTimeoutMs", "`maxWaitMs` here"],
    ["wait", "`maxWaitMs` here"],
    ["delay", "`maxWaitMs` here"],
    ["windowMs", "`maxWaitMs` here"],
    ["max_latency_ms", "`maxWaitMs` here"],
    ["debounceMs", "`maxWaitMs` here"],
    ["min_batch_size", "`preferredBatchSize` here: no minimum: so many go before `maxWaitMs` is over; 1 ends"],
    ["minBatchSize", "1 ends all waiting"],
    ["maxConcurrentBatches", "`concurrency` here"],
    ["batchSizeFn", "`batchCost` here"],
    ["prefetchBatches", "`prefetch` here"],
    ["smallBatchThreshold", "`smallCallFirst` here"],
    ["blockOnFull", "`onFull` here"],
    ["max", "`maxBatchSize` here"],
    ["retries", "`retry` here"],
    ["maxRetries", "`retry` here"],
    ["cacheKeyFn", "`dedupe` here"],
    ["batchScheduleFn", "`maxWaitMs` here"],
  ])("%s is answered alike by every maker of batchers", (name, answer) => {
    for (const [point, make] of Object.entries(ENTRY_POINTS)) {
      const isForStreams = !(point === "batchStream" && /retr|Key/.test(name));
      if (isForStreams) expect([point, saidBy(make, name)]).toEqual([point, expect.stringContaining(answer)]);
    }
  });

  test.each([
    ["slo", "`targetLatencyMs` here"],
    ["sloMs", "`targetLatencyMs` here"],
    ["verbose", 'use `on("batch", listener)`'],
    ["logger", 'use `on("batch", listener)`'],
  ])("the error for %s names our way", (name, answer) => {
    expect(saidBy(ENTRY_POINTS.batch as never, name)).toContain(answer);
  });

  test.each([
    ["batch_wait_timeout_s", " (seconds x 1,000)"],
    ["waitSeconds", " (seconds x 1,000)"],
    ["sloSeconds", " (seconds x 1,000)"],
    ["max_queue_delay_microseconds", " (microseconds / 1,000)"],
    ["timeout_ms", ""],
    ["wait", ""],
    ["schedulers", ""],
  ])("the error for %s converts its unit: %j", (name, factor) => {
    const message = saidBy(ENTRY_POINTS.batch as never, name);
    expect(/ \(\w*seconds . 1,000\)/.exec(message)?.[0] ?? "").toBe(factor);
  });

  test.each([
    ["costEstimator", "`cost` here", "`estimateTokens` here"],
    ["tokenEstimator", "`cost` here", "`estimateTokens` here"],
    ["estimatedTokens", "`cost` here", "`estimateTokens` here"],
    ["maxBatchLength", "`maxBatchCost` here", "`maxBatchTokens` here"],
    ["targetBatchTokens", "`maxBatchCost` here", "`maxBatchTokens` here"],
  ])("%s is answered in the words of the batcher", (name, ofBatcher, ofTokens) => {
    expect(saidBy(ENTRY_POINTS.createBatcher as never, name)).toContain(ofBatcher);
    expect(saidBy(ENTRY_POINTS.createTokenBatcher as never, name)).toContain(ofTokens);
  });

  test("are answered by configure() and by a submit with the options that these have", async () => {
    const batcher = createBatcher(echo);
    const tokens = createTokenBatcher(echo);
    expect(saidBy((name) => batcher.configure(options(name)), "timeout_ms")).toContain("`maxWaitMs` here");
    expect(saidBy((name) => tokens.configure(options(name)), "min_batch_size")).toContain("1 ends all waiting");
    await expect(batcher.submit(1, options("estimated_cost"))).rejects.toThrow("`cost` here");
    await expect(tokens.submit(1, options("estimated_tokens"))).rejects.toThrow("`tokens` here");
    await expect(batcher.submit(1, options("timeout_ms"))).rejects.toThrow("`timeoutMs` here");
  });

  test("are answered in the options of a decorated method's call", async () => {
    const prototype: { embed?: (...given: unknown[]) => Promise<unknown> } = {};
    const method = { value: async (items: number[]) => items, configurable: true, writable: true };
    const decorate = batched as unknown as (...of: unknown[]) => PropertyDescriptor;
    Object.defineProperty(prototype, "embed", decorate(prototype, "embed", method));
    const model = Object.create(prototype) as typeof prototype;
    await expect(model.embed?.([1], options("estimated_cost"))).rejects.toThrow("`cost` here");
  });

  test("do not affect other entry points: there a name has its own answer, or the nearest name", () => {
    expect(saidBy((name) => rateLimiter({ [name]: 1 } as never), "rpm")).toContain("`callsPerMinute`");
    expect(saidBy((name) => rateLimiter({ [name]: 1 } as never), "wait")).toContain("Expected one of callsPerMinute");
  });
});

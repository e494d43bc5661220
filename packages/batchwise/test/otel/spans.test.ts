// The spans of batches, through OpenTelemetry's SDK with its own context manager.

import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { type BatchOptions, createBatcher } from "batchwise";
import { instrument } from "batchwise/otel";
import { expect, test } from "vitest";
import { type Spans, spans } from "./support/telemetry.ts";

const echo = (words: string[]): string[] => words;

/** The spans of batches among those that have ended. */
function batches({ ended }: Spans): ReadableSpan[] {
  return ended().filter(({ name }) => name === "batchwise words");
}

function links(span: ReadableSpan | undefined): string[] {
  return (span?.links ?? []).map((link) => link.context.spanId);
}

function instrumented(
  telemetry: Spans,
  handler: (words: string[]) => unknown,
  options: BatchOptions<string, string> = {},
) {
  const batcher = createBatcher<string, string>(handler as typeof echo, { name: "words", ...options });
  instrument(batcher, { meter: null, tracer: telemetry.tracer });
  return batcher;
}

test("a batch's span begins a trace of its own and links to the spans of all its callers", async () => {
  const telemetry = spans();
  const batcher = instrumented(telemetry, echo);
  const answers: Promise<unknown>[] = [];
  const submit =
    (...words: string[]) =>
    () =>
      answers.push(...words.map((word) => batcher.submit(word)));
  const first = telemetry.within("first request", submit("a"));
  const second = telemetry.within("second request", submit("b", "c"));
  submit("d")();
  await Promise.all(answers);

  const [span, ...others] = batches(telemetry);
  expect(others).toEqual([]);
  expect(links(span)).toEqual([first.spanId, second.spanId]);
  expect(span?.parentSpanContext).toBe(undefined);
  expect([first.traceId, second.traceId]).not.toContain(span?.spanContext().traceId);
  expect(span?.kind).toBe(SpanKind.INTERNAL);
  expect(span?.attributes).toEqual({
    "batchwise.batcher.name": "words",
    "batchwise.batch.id": expect.stringMatching(/^words-/),
    "batchwise.batch.reason": "idle",
    "batchwise.batch.size": 4,
    "batchwise.batch.cost": 4,
    "batchwise.batch.wait": expect.any(Number),
    "batchwise.batch.calls": 1,
  });
});

test("a call of many items is one link", async () => {
  const telemetry = spans();
  const batcher = instrumented(telemetry, echo);
  let answers: Promise<unknown> = Promise.resolve();
  const caller = telemetry.within("request", () => {
    answers = batcher.submitMany(["a", "b", "c"]);
  });
  await answers;
  expect(links(batches(telemetry)[0])).toEqual([caller.spanId]);
});

test("a caller who joins an equal waiting item is linked too", async () => {
  const telemetry = spans();
  const batcher = instrumented(telemetry, echo, { dedupe: (word) => word });
  const answers: Promise<unknown>[] = [];
  const submit = () => answers.push(batcher.submit("same"));
  const callers = [telemetry.within("first", submit), telemetry.within("second", submit)];
  await Promise.all(answers);
  expect(links(batches(telemetry)[0])).toEqual(callers.map(({ spanId }) => spanId));
});

test("the handler's own spans are part of the batch's span, in each stage and each call", async () => {
  const telemetry = spans();
  const { tracer } = telemetry;
  const note = (name: string) => tracer.startSpan(name).end();
  let calls = 0;
  const batcher = createBatcher(
    {
      async prepare(words: string[]) {
        await null;
        note("prepare");
        return words;
      },
      async run(words: string[]) {
        await null;
        note("run");
        calls += 1;
        if (calls === 1) throw new Error("once");
        return words;
      },
      finish(words: string[]) {
        note("finish");
        return words;
      },
    },
    { name: "words", retry: { attempts: 2, backoffMs: 1 } },
  );
  instrument(batcher, { meter: null, tracer });
  await batcher.submit("a");
  await batcher.close();
  const [span] = batches(telemetry);
  const inside = telemetry.ended().filter((one) => one.parentSpanContext?.spanId === span?.spanContext().spanId);
  expect(inside.map(({ name }) => name)).toEqual(["prepare", "run", "prepare", "run", "finish"]);
  expect(span?.attributes["batchwise.batch.calls"]).toBe(2);
  expect(span?.status.code).toBe(SpanStatusCode.UNSET);
});

test("a batch that fails as a whole has the error on its span", async () => {
  const telemetry = spans();
  const batcher = instrumented(telemetry, () => {
    throw Object.assign(new Error("no memory"), { code: "OOM" });
  });
  await expect(batcher.submit("a")).rejects.toThrow("no memory");
  await batcher.idle();
  const [span] = batches(telemetry);
  expect(span?.status).toEqual({ code: SpanStatusCode.ERROR, message: "no memory" });
  expect(span?.attributes["error.type"]).toBe("OOM");
  expect(span?.events).toMatchObject([{ name: "exception", attributes: { "exception.message": "no memory" } }]);
});

test.each<[string, () => unknown]>([
  ["an object without a text", () => Object.create(null)],
  ["an object whose code cannot be read", () => unreadable({}, "code")],
  ["an error whose message cannot be read", () => unreadable(new Error(), "message")],
])("a batch that fails with %s has a span with an error", async (_what, make) => {
  const telemetry = spans();
  const batcher = instrumented(telemetry, () => {
    throw make();
  });
  await expect(batcher.submit("a")).rejects.toBeDefined();
  await batcher.idle();
  const [span] = batches(telemetry);
  expect(span?.status.code).toBe(SpanStatusCode.ERROR);
  expect(span?.attributes["error.type"]).toBeTypeOf("string");
});

function unreadable(value: object, name: string): object {
  return Object.defineProperty(value, name, {
    get: () => {
      throw new Error("no");
    },
  });
}

test("a batch's span has the key of its lane", async () => {
  const telemetry = spans();
  const batcher = instrumented(telemetry, echo, { key: (word) => word });
  await batcher.submit("a");
  expect(batches(telemetry)[0]?.attributes["batchwise.batch.key"]).toBe("a");
});

test("a batcher that is made inside a span does not put its batches into it", async () => {
  const telemetry = spans();
  let batcher = createBatcher(echo);
  telemetry.within("start-up", () => {
    batcher = instrumented(telemetry, echo);
  });
  await batcher.submit("a");
  const [span] = batches(telemetry);
  expect(span?.parentSpanContext).toBe(undefined);
  expect(links(span)).toEqual([]);
});

test("`captureContext` and the context of a submit stay the user's own", async () => {
  const telemetry = spans();
  const seen: unknown[] = [];
  const batcher = createBatcher(
    (words: string[], { requests }) => {
      seen.push(...requests.map((request) => request.context));
      return words;
    },
    { name: "words", captureContext: () => "captured" },
  );
  instrument(batcher, { meter: null, tracer: telemetry.tracer });
  const answers: Promise<unknown>[] = [];
  const caller = telemetry.within("request", () => {
    answers.push(batcher.submit("a"), batcher.submit("b", { context: "given" }));
  });
  await Promise.all(answers);
  expect(seen).toEqual(["captured", "given"]);
  expect(links(batches(telemetry)[0])).toEqual([caller.spanId]);
});

test("the tracer is the global one unless another is given, registered before or after", async () => {
  const telemetry = spans();
  const batcher = createBatcher(echo, { name: "words" });
  const detach = instrument(batcher);
  trace.setGlobalTracerProvider({ getTracer: () => telemetry.tracer });
  await batcher.submit("a");
  detach();
  await batcher.submit("b");
  trace.disable();
  context.disable();
  expect(batches(telemetry)).toHaveLength(1);
});

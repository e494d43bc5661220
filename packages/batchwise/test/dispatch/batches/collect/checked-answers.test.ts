// Answers that are checked: by a schema of a job, by a function, and by processes that lack it.

import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { OutputSchema } from "../../../../src/dispatch/contract/checks.ts";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { JobOutcome } from "../../../../src/dispatch/contract/jobs.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import type { RunBatchOptions } from "../../../../src/dispatch/jobs/run-batch-options.ts";
import { runBatch } from "../../../../src/dispatch/run-batch.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { virtualClock } from "../../../../src/testing/index.ts";
import { makeFolder } from "../../stores/sqlite/folder.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { SimRunner } from "../../support/simulation/sim-runner.ts";
import { ask, START, seeded } from "../../support/world.ts";

const MINUTE = 60_000;
const person = z.object({ name: z.string(), age: z.number() });
const right = '{"name":"Ada","age":36}';

const chat = (content: string, more: JsonObject = {}): JsonObject => ({
  choices: [{ message: { role: "assistant", content }, finish_reason: "stop", ...more }],
});

type Answers = (identity: string, run: number) => JsonObject;

/** A provider whose nth answer to a request is the test's. */
function rig(answers: Answers, options: Partial<DispatcherOptions> = {}) {
  const time = virtualClock(START);
  const provider = new SimProvider({ time, plan: () => ({ validateMs: 0, runMs: MINUTE }) });
  const plain = provider.account();
  const runs = new Map<string, number>();
  const account: Account = {
    ...plain,
    async *results(...given) {
      for await (const line of plain.results(...given)) {
        const identity = (line.response?.body as { answer?: string } | undefined)?.answer ?? "";
        const run = (runs.get(identity) ?? 0) + 1;
        runs.set(identity, run);
        yield line.response === null ? line : { ...line, response: { statusCode: 200, body: answers(identity, run) } };
      }
    },
  };
  const errors: unknown[] = [];
  const base = {
    ...{ store: memoryStore(), accounts: [account], clock: time, random: seeded(1) },
    ...{ thresholds: { maxAgeMs: 0 }, retry: { backoffMs: 1_000 }, onError: (error: unknown) => errors.push(error) },
    ...options,
  };
  return { time, provider, account, runs, errors, base };
}

async function outcomesOf<Output>(
  { time, base }: ReturnType<typeof rig>,
  job: Omit<RunBatchOptions<ReturnType<typeof ask>, Output>, "store" | "accounts">,
): Promise<JobOutcome<ReturnType<typeof ask>, Output>[]> {
  const outcomes: JobOutcome<ReturnType<typeof ask>, Output>[] = [];
  let isOver = false;
  const all = (async () => {
    for await (const outcome of runBatch({ ...base, ...job })) outcomes.push(outcome);
  })().finally(() => {
    isOver = true;
  });
  all.catch(() => {});
  for (let steps = 0; steps < 2_000 && !isOver; steps += 1) await time.advance(5_000);
  await all;
  return outcomes;
}

test("an answer that a schema takes has a typed value; one that it does not take is a charged try", async () => {
  const world = rig((identity, run) => chat(identity === "late" && run === 1 ? '{"name":"Ada"}' : right));
  const outcomes = await outcomesOf(world, { job: "j", requests: [ask("good"), ask("late")], schema: person });
  const value: { name: string; age: number } | undefined = outcomes[0]?.value;
  expect(value).toEqual({ name: "Ada", age: 36 });
  expect(outcomes.map(({ id, status, attempts, value }) => [id, status, attempts, value?.age])).toEqual([
    ["good", "succeeded", 1, 36],
    ["late", "succeeded", 2, 36],
  ]);
});

test("an answer that never passes fails as `invalid_output`, with the reason, the place and the answer", async () => {
  const world = rig(() => chat('{"name":"Ada","age":"old"}'));
  const [outcome] = await outcomesOf(world, { job: "j", requests: [ask("a")], schema: person });
  expect(outcome).toMatchObject({ status: "failed", attempts: 3, error: { code: "invalid_output" } });
  expect(outcome?.error?.message).toMatch(/^The answer is not as the schema says. age: /);
  expect(outcome?.response?.body).toEqual(chat('{"name":"Ada","age":"old"}'));
  expect(outcome?.value).toBeUndefined();
});

test.each([
  ["cut by its length", chat('{"name":"A', { finish_reason: "length" }), "cut"],
  ["a refusal", { choices: [{ message: { content: null, refusal: "No." }, finish_reason: "stop" }] }, "refused"],
  [
    "cut, of Responses",
    { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] },
    "cut",
  ],
  ["refused, of Messages", { content: [{ type: "text", text: "No." }], stop_reason: "refusal" }, "refused"],
] as [string, JsonObject, string][])("an answer that is %s is not requested again", async (_kind, body, word) => {
  const world = rig(() => body);
  const [outcome] = await outcomesOf(world, { job: "j", requests: [ask("a")], schema: person });
  expect(outcome).toMatchObject({ status: "failed", attempts: 1, error: { code: "invalid_output" } });
  expect(outcome?.error?.message).toContain(word);
});

test.each([
  [
    "a tool call of Chat Completions",
    { choices: [{ message: { tool_calls: [{ function: { name: "f", arguments: right } }] } }] },
  ],
  ["the text of Responses", { output: [{ type: "message", content: [{ type: "output_text", text: right }] }] }],
  ["a function call of Responses", { output: [{ type: "function_call", arguments: right }] }],
  ["the text of Messages", { content: [{ type: "text", text: right }], stop_reason: "end_turn" }],
  ["a tool use of Messages", { content: [{ type: "tool_use", input: JSON.parse(right) as JsonObject }] }],
  ["the text of Gemini", { candidates: [{ content: { parts: [{ text: right }] }, finishReason: "STOP" }] }],
  [
    "a function call of Gemini",
    { candidates: [{ content: { parts: [{ functionCall: { args: JSON.parse(right) as JsonObject } }] } }] },
  ],
  ["the text of Completions", { choices: [{ text: right, finish_reason: "stop" }] }],
] as [string, JsonObject][])("the value is read from %s", async (_kind, body) => {
  const [outcome] = await outcomesOf(
    rig(() => body),
    { job: "j", requests: [ask("a")], schema: person },
  );
  expect(outcome).toMatchObject({ status: "succeeded", value: { name: "Ada", age: 36 } });
});

test("`validate` may be asynchronous, and a schema may be a function", async () => {
  const schema: OutputSchema<string> = Object.assign(() => {}, {
    "~standard": {
      version: 1,
      vendor: "ours",
      validate: async (value: unknown) => {
        const { name } = value as { name?: string };
        return name === undefined ? { issues: [{ message: "No name." }] } : { value: name };
      },
    },
  } as const);
  const [outcome] = await outcomesOf(
    rig(() => chat(right)),
    { job: "j", requests: [ask("a")], schema },
  );
  expect(outcome?.value).toBe("Ada");
});

test("`check` gets answer and request, and its reason is the outcome's", async () => {
  const seen: unknown[] = [];
  const world = rig((_identity, run) => chat(`answer ${run}`));
  const request = ask("a", { metadata: { row: "7" }, tenant: "t" });
  const [outcome] = await outcomesOf(world, {
    job: "j",
    requests: [request],
    check: (body, given) => {
      seen.push(given);
      return JSON.stringify(body).includes("answer 2") ? null : "It is not the second.";
    },
  });
  expect(outcome).toMatchObject({ status: "succeeded", attempts: 2 });
  expect(outcome).not.toHaveProperty("value");
  const of = { id: "a", job: "j", tenant: "t", metadata: { row: "7" }, endpoint: "/v1/chat/completions" };
  expect(seen[0]).toEqual({ ...of, body: request.body });
});

test("a check that throws, or gives neither null nor a text, charges no request and is reported", async () => {
  let calls = 0;
  const world = rig(() => chat("yes"));
  const check = () => {
    calls += 1;
    if (calls === 1) throw new Error("Our mistake.");
    return calls === 2 ? (7 as never) : null;
  };
  const [outcome] = await outcomesOf(world, { job: "j", requests: [ask("a")], check });
  expect(outcome).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(world.errors).toMatchObject([{ code: "CHECK_FAILED" }, { code: "CHECK_FAILED" }]);
});

test("a process without the check passes the batch to one that has it, and reports that once", async () => {
  const world = rig(() => chat("yes"));
  const { time, base, errors } = world;
  const enqueuer = createDispatcher({ ...base, check: () => null });
  await enqueuer.enqueue(ask("a"));
  await enqueuer.stop();
  const without = createDispatcher(base);
  await without.start();
  onTestFinished(() => without.stop());
  await time.advance(30 * MINUTE);
  expect((await without.stats()).outcomes.succeeded).toBe(0);
  expect(errors).toMatchObject([{ code: "CHECK_MISSING" }]);
  // Another job's check is another check.
  await outcomesOf(world, { job: "other", requests: [ask("b")], check: () => null });
  expect((await without.stats()).outcomes.succeeded).toBe(1);
  const having = createDispatcher({ ...base, check: () => null });
  await having.start();
  onTestFinished(() => having.stop());
  await time.advance(60 * MINUTE);
  expect((await having.stats()).outcomes.succeeded).toBe(2);
});

test("lines that an account runs itself are checked, too", async () => {
  const time = virtualClock(START);
  const runner = new SimRunner({ time, lineMs: () => 1_000 });
  const errors: unknown[] = [];
  let calls = 0;
  const dispatcher = createDispatcher({
    ...{ store: memoryStore(), accounts: [runner.account()], clock: time, random: seeded(1) },
    ...{ thresholds: { maxAgeMs: 0 }, retry: { backoffMs: 1_000 }, onError: (error: unknown) => errors.push(error) },
    check: () => {
      calls += 1;
      return calls < 2 ? "Not yet." : null;
    },
  });
  onTestFinished(() => dispatcher.stop());
  await dispatcher.start();
  await dispatcher.enqueue(ask("a"));
  const result = dispatcher.result("a");
  await time.advance(30 * MINUTE);
  expect(await result).toMatchObject({ status: "succeeded", attempts: 2 });
});

test("endpoints without text, and wrong options, are refused", async () => {
  const { base } = rig(() => chat("yes"));
  const dispatcher = createDispatcher({ ...base, check: () => null });
  const embedding = { body: { model: "m", input: "text" } };
  await expect(dispatcher.enqueue(embedding)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  const wrong = [
    { schema: {} },
    { schema: "text" },
    { schema: null },
    { check: 3 },
    { schema: person, check: () => null },
  ];
  for (const options of wrong) {
    const make = () => runBatch({ ...base, job: "j", requests: [], ...(options as object) });
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  }
  expect(() => createDispatcher({ ...base, check: true as never })).toThrow(
    expect.objectContaining({ code: "INVALID_OPTION" }),
  );
});

test("a second run with the same schema parses the stored answers, and pays for nothing", async () => {
  const world = rig(() => chat(right));
  await outcomesOf(world, { job: "j", requests: [ask("a")], schema: person });
  const [again] = await outcomesOf(world, {
    job: "j",
    requests: [ask("a")],
    schema: person.transform(({ age }) => age),
  });
  expect(again?.value).toBe(36);
  expect(world.provider.batches).toHaveLength(1);
});

const many = (count: number) => Array.from({ length: count }, (_, index) => ask(`a${index}`));

test("a process without the check holds up neither 50 batches of one that has it, nor its own", async () => {
  const folder = makeFolder();
  onTestFinished(() => folder.remove());
  const path = folder.file();
  const rows = { thresholds: { maxAgeMs: 0, maxRequests: 1 } };
  const world = rig(() => chat("yes"), { ...rows, store: sqliteStore({ path }) });
  const { time, base, errors } = world;
  const having = createDispatcher({ ...base, check: () => null });
  const without = createDispatcher({ ...base, store: sqliteStore({ path }) });
  for (const dispatcher of [having, without]) onTestFinished(() => dispatcher.stop());
  await having.enqueueMany(many(50));
  await without.enqueueMany(Array.from({ length: 20 }, (_, index) => ask(`b${index}`)));
  await without.start();
  const ended = async () => (await having.stats()).outcomes.succeeded;
  for (let steps = 0; steps < 120 && (await ended()) < 20; steps += 1) await time.advance(5_000);
  expect(await ended()).toBe(20);
  expect(time.now() - START).toBeLessThan(3 * MINUTE);
  expect(errors.filter((error) => (error as { code?: string }).code === "CHECK_MISSING")).toHaveLength(50);
  const begunAt = time.now();
  await having.start();
  for (let steps = 0; steps < 120 && (await ended()) < 70; steps += 1) await time.advance(5_000);
  expect(await ended()).toBe(70);
  expect(time.now() - begunAt).toBeLessThan(2 * MINUTE);
});

test("a check that fails for one answer keeps that one open, and settles the others", async () => {
  const world = rig(() => chat("yes"));
  let failures = 0;
  const check = (_body: JsonObject, { id }: { readonly id: string }): null => {
    if (id !== "a7" || failures === 25) return null;
    failures += 1;
    throw new TypeError("Cannot read properties of null");
  };
  const outcomes = await outcomesOf(world, { job: "j", requests: many(20), check });
  expect(outcomes.map(({ status, attempts }) => [status, attempts])).toEqual(outcomes.map(() => ["succeeded", 1]));
  expect(outcomes.at(-1)?.id).toBe("a7");
  expect(failures).toBe(25);
});

test("slow checks of many answers are waited for, each up to the time of a call", async () => {
  const world = rig(() => chat("yes"));
  const { time } = world;
  const hung = new Set(["a0"]);
  const check = (_body: JsonObject, { id }: { readonly id: string }): Promise<null> =>
    new Promise((resolve) => {
      if (!hung.delete(id)) time.setTimeout(() => resolve(null), 10_000);
    });
  const outcomes = await outcomesOf(world, { job: "j", requests: many(15), check });
  expect(outcomes.filter(({ status, attempts }) => status === "succeeded" && attempts === 1)).toHaveLength(15);
  expect(world.errors).toMatchObject([{ code: "CHECK_FAILED" }]);
});

test("a check that fails for a line that an account ran ends it with its answer, and runs it once", async () => {
  const time = virtualClock(START);
  const runner = new SimRunner({ time, lineMs: () => 1_000 });
  const dispatcher = createDispatcher({
    ...{ store: memoryStore(), accounts: [runner.account()], clock: time, random: seeded(1) },
    ...{ thresholds: { maxAgeMs: 0 }, onError: () => {} },
    check: (_body, { id }) => {
      if (id === "a0") throw new Error("Our mistake.");
      return null;
    },
  });
  onTestFinished(() => dispatcher.stop());
  await dispatcher.start();
  await dispatcher.enqueueMany(many(2));
  const results = Promise.all(["a0", "a1"].map((id) => dispatcher.result(id)));
  await time.advance(30 * MINUTE);
  expect(await results).toMatchObject([
    { status: "failed", error: { code: "invalid_output" }, response: { statusCode: 200 } },
    { status: "succeeded" },
  ]);
  expect(runner.executions).toHaveLength(2);
});

test("JSON in one Markdown fence is JSON, and a long reason is cut", async () => {
  const fenced = rig(() => chat(`\`\`\`json\n${right}\n\`\`\``));
  const [outcome] = await outcomesOf(fenced, { job: "j", requests: [ask("a")], schema: person });
  expect(outcome).toMatchObject({ status: "succeeded", attempts: 1, value: { name: "Ada", age: 36 } });
  const wordy = rig(() => chat("no"));
  const [failed] = await outcomesOf(wordy, { job: "j", requests: [ask("a")], check: () => "x".repeat(100_000) });
  expect(failed?.error?.message.length).toBeLessThan(1_100);
});

test("a schema that throws when the value is read ends no job", async () => {
  const world = rig(() => chat(right));
  let reads = 0;
  const schema: OutputSchema<string> = {
    "~standard": {
      version: 1,
      vendor: "ours",
      validate: () => {
        reads += 1;
        if (reads > 1) throw new Error("Its database is away.");
        return { value: "Ada" };
      },
    },
  };
  const outcomes = await outcomesOf(world, { job: "j", requests: many(1), schema });
  expect(outcomes.map(({ status, value }) => [status, value])).toEqual([["succeeded", undefined]]);
  expect(world.errors).toMatchObject([{ code: "CHECK_FAILED" }]);
});

// Answers with schemas of the libraries that people use: `value` has the type that each infers.

import { type } from "arktype";
import { memoryStore, type OutputSchema, runBatch } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import * as v from "valibot";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";

interface Person {
  readonly name: string;
  readonly age: number;
}

/** With what is sent of each: `strict`, or nothing. */
const schemas: readonly [string, OutputSchema<Person>, boolean | undefined][] = [
  ["zod", z.object({ name: z.string(), age: z.number() }), true],
  ["valibot", v.object({ name: v.string(), age: v.number() }), undefined],
  ["arktype", type({ name: "string", age: "number" }), true],
];

const TIMES = { validateMs: 0, runMs: 0, finalizeMs: 0 };

test.each(schemas)("a schema of %s gives typed values, and refuses invalid ones", async (_name, schema, strict) => {
  const sent = new Set<unknown>();
  const fake = fakeProvider({
    plan: TIMES,
    answer: ({ customId, body }) => {
      const { json_schema: format } = (body.response_format ?? {}) as { json_schema?: { strict: boolean } };
      sent.add(format?.strict);
      const content = JSON.stringify({ name: "Ada", age: customId.endsWith("0") ? 36 : "old" });
      const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
      return { status: 200, body: { id: "chatcmpl-1", object: "chat.completion", model: "m", choices } };
    },
  });
  const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const accounts = [openaiAccount({ client, pollMs: 20 })];
  const body = (content: string) => ({ model: "gpt-5-mini", messages: [{ role: "user", content }] });
  const requests = ["a", "b"].map((id) => ({ id, body: body(id) }));
  const found = new Map<string, unknown>();
  const options = { store: memoryStore(), accounts, job: "people", requests, schema, retry: { attempts: 1 } };
  for await (const { id, value, error } of runBatch(options)) {
    expectTypeOf(value).toEqualTypeOf<Person | undefined>();
    found.set(id, value ?? error?.code);
  }
  expect(Object.fromEntries(found)).toEqual({ a: { name: "Ada", age: 36 }, b: "invalid_output" });
  expect([...sent]).toEqual([strict]);
});

test("zod and arktype word one type differently, and a job continues from one to the other", async () => {
  const store = memoryStore();
  const alike: readonly OutputSchema<object>[] = [
    z.object({ name: z.string().nullable(), kind: z.literal("a"), tags: z.array(z.string()) }),
    type({ tags: "string[]", kind: "'a'", name: "string | null" }),
  ];
  const answer = JSON.stringify({ name: null, kind: "a", tags: [] });
  for (const schema of alike) {
    const fake = fakeProvider({
      plan: TIMES,
      answer: () => {
        const choices = [{ index: 0, message: { role: "assistant", content: answer }, finish_reason: "stop" }];
        return { status: 200, body: { id: "chatcmpl-1", object: "chat.completion", model: "m", choices } };
      },
    });
    const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const requests = [{ id: "a", body: { model: "gpt-5-mini", messages: [{ role: "user", content: "Who?" }] } }];
    const accounts = [openaiAccount({ client, pollMs: 20 })];
    for await (const { value } of runBatch({ store, accounts, job: "alike", requests, schema })) {
      expect(value).toEqual({ name: null, kind: "a", tags: [] });
    }
  }
});

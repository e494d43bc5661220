// A practice provider in this process: a strict fake whose model calls each tool in turn and then
// decides.

import { type FakeAnswer, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";

interface Message {
  readonly role: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
}

/** Its batches end within a second. */
export function practiceModel(): FakeProvider {
  return fakeProvider({
    plan: { validateMs: 50, runMs: 400, finalizeMs: 50 },
    answer: ({ body }) => answerTo(body.messages as never),
  });
}

export async function startPractice(): Promise<{ readonly url: string; end(): Promise<void> }> {
  const { url, close } = await practiceModel().listen();
  return { url, end: close };
}

function answerTo(messages: readonly Message[]): FakeAnswer {
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => JSON.parse(String(content)));
  const [order, policy] = results as [{ kind: string }?, { mayReturn: boolean }?];
  const id = /A-\d+/.exec(JSON.stringify(messages))?.[0];
  if (order === undefined) return asks("order", { id });
  if (policy === undefined) return asks("policy", { kind: order.kind });
  return completion({ role: "assistant", content: policy.mayReturn ? "refund" : "reject" }, "stop");
}

function asks(name: string, input: object): FakeAnswer {
  const call = { id: `call_${name}`, type: "function", function: { name, arguments: JSON.stringify(input) } };
  return completion({ role: "assistant", content: null, tool_calls: [call] }, "tool_calls");
}

function completion(message: object, finish_reason: string): FakeAnswer {
  const usage = { prompt_tokens: 50, completion_tokens: 10, total_tokens: 60 };
  const choices = [{ index: 0, message, finish_reason, logprobs: null }];
  const body = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "gpt-5-mini", choices, usage };
  return { status: 200, body: body as never };
}

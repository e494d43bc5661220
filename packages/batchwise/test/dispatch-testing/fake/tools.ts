// Clients and files for the fake's tests.

import type { FakeOptions, FakeProvider } from "batchwise/dispatch/testing";
import { fakeProvider } from "batchwise/dispatch/testing";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import OpenAI, { toFile } from "openai";

export const HOUR = 3_600_000;

export interface Rig {
  readonly fake: FakeProvider;
  readonly clock: VirtualClock;
  readonly client: OpenAI;
}

/** A fake with a virtual clock, and an official client that reaches it without a socket. */
export function rig(options: FakeOptions = {}): Rig {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock, identify: ({ body }) => String(body.user), ...options });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch, maxRetries: 0 });
  return { fake, clock, client };
}

export function line(n: number, changes: object = {}, body: object = {}): object {
  const messages = [{ role: "user", content: `text ${n}` }];
  return {
    custom_id: `line_${n}`,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "model-a", messages, user: `user-${n}`, ...body },
    ...changes,
  };
}

export function lines(count: number): object[] {
  return Array.from({ length: count }, (_, n) => line(n));
}

export async function upload(client: OpenAI, content: readonly object[] | string): Promise<string> {
  const text = typeof content === "string" ? content : content.map((each) => JSON.stringify(each)).join("\n");
  const file = await client.files.create({ file: await toFile(Buffer.from(text), "input.jsonl"), purpose: "batch" });
  return file.id;
}

export async function submit(
  client: OpenAI,
  content: readonly object[] | string,
  metadata: Record<string, string> = {},
): Promise<OpenAI.Batch> {
  const input_file_id = await upload(client, content);
  return client.batches.create({ input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h", metadata });
}

export interface ResultLine {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: Record<string, unknown> } | null;
  readonly error: { readonly code: string } | null;
}

export async function results(client: OpenAI, fileId: string | null | undefined): Promise<ResultLine[]> {
  if (fileId === null || fileId === undefined || fileId === "") return [];
  const text = await (await client.files.content(fileId)).text();
  return text
    .split("\n")
    .filter((each) => each !== "")
    .map((each) => JSON.parse(each));
}

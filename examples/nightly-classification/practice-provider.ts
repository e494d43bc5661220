// A provider to practise with: batchwise's strict fake in a process of its own, as a real provider is elsewhere, so that
// its batches outlive an example that is stopped or killed. It keeps everything in memory and ends after ten idle
// minutes. Started by provider.ts as `node practice-provider.ts <file>`; writes its address and pid into that file.

import { renameSync, writeFileSync } from "node:fs";
import { type FakeLine, fakeProvider } from "batchwise/dispatch/testing";

const IDLE_MS = 600_000;
/** Of the first batch; each further one takes as much longer, up to the tenth, so that there is time to interrupt. */
const RUN_MS = 3_000;
const LONGEST = 10;

/** In place of a model: the words that give each label away. */
const WORDS: readonly (readonly [label: string, words: RegExp])[] = [
  ["billing", /invoice|charged|refund|bill/i],
  ["bug", /error|crash|fails/i],
  ["shipping", /parcel|courier|delivery/i],
];

function answer({ body }: FakeLine): ReturnType<NonNullable<Parameters<typeof fakeProvider>[0]>["answer"] & {}> {
  const text = JSON.stringify(body.messages).split('"role":"user"')[1] ?? "";
  const content = WORDS.find(([, words]) => words.test(text))?.[0] ?? "other";
  const usage = { prompt_tokens: Math.ceil(text.length / 4), completion_tokens: 1, total_tokens: 0 };
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  return { status: 200, body: { object: "chat.completion", model: body.model ?? "", choices, usage } };
}

const fake = fakeProvider({
  plan: ({ index }) => ({ validateMs: 400, runMs: RUN_MS * (1 + (index % LONGEST)), finalizeMs: 200 }),
  answer,
});
const { url } = await fake.listen();
const file = process.argv[2] ?? "practice-provider.json";
// Whoever waits for the file must never see a part of it.
writeFileSync(`${file}.new`, JSON.stringify({ url, pid: process.pid }));
renameSync(`${file}.new`, file);

let calls = 0;
setInterval(() => {
  if (fake.calls() === calls) process.exit();
  calls = fake.calls();
}, IDLE_MS);

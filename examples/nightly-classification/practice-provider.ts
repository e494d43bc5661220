// A practice provider: batchwise's strict fake in its own process, so that its batches outlive an
// example that is stopped or killed, as at a real provider. Prints its address; ends after a day.

import { fakeProvider } from "batchwise/dispatch/testing";

/** Instead of a model: the words that indicate each label. */
const WORDS = { billing: /invoice|charged|refund/i, bug: /error|crash|fails/i, shipping: /parcel|courier|delivery/i };

const fake = fakeProvider({
  plan: ({ index }) => ({ validateMs: 400, runMs: 3_000 * (1 + (index % 10)), finalizeMs: 200 }),
  answer: ({ body }) => {
    const text = JSON.stringify(body.messages).split('"role":"user"')[1] ?? "";
    const content = Object.entries(WORDS).find(([, words]) => words.test(text))?.[0] ?? "other";
    return { status: 200, body: { choices: [{ message: { role: "assistant", content } }] } };
  },
});
process.stdout.write((await fake.listen()).url);
setTimeout(() => process.exit(), 24 * 3_600_000);

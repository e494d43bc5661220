// A program that asks many questions through `batchFetch`, as a user writes it. Arguments: the
// provider's address, the store's file, how many questions. Prints the answers as a JSON array.

import OpenAI from "openai";
import { batchFetch, createDispatcher } from "../../../../src/dispatch/index.ts";
import { openaiAccount } from "../../../../src/dispatch/providers/openai/index.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";

const [url = "", path = "", count = "0"] = process.argv.slice(2);
const account = new OpenAI({ apiKey: "account", baseURL: `${url}/v1` });
const dispatcher = createDispatcher({
  store: sqliteStore({ path }),
  accounts: [openaiAccount({ client: account, pollMs: 100, requestTimeoutMs: 1_500, reconcileGraceMs: 500 })],
  thresholds: { maxRequests: 100 },
  leaseMs: 2_000,
});
await dispatcher.start();
const fetch = batchFetch(dispatcher, { flushAfterMs: 50 });
const client = new OpenAI({
  apiKey: "caller",
  baseURL: "http://elsewhere.test/v1",
  fetch,
  maxRetries: 0,
  timeout: 60_000,
});
const questions = Array.from({ length: Number(count) }, (_, index) => `Question ${index}?`);
const answers = await Promise.all(
  questions.map((content) => client.chat.completions.create({ model: "m", messages: [{ role: "user", content }] })),
);
console.log(JSON.stringify(answers.map(({ choices }) => choices[0]?.message.content)));
await dispatcher.stop();

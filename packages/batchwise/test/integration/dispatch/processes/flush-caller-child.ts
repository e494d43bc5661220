// A program that asks through `batchFetch` and runs no loops: loops of other processes send its
// requests and read their results. Argument: JSON of FetchCall. Prints the answers as a JSON array.

import OpenAI from "openai";
import { batchFetch, createDispatcher } from "../../../../src/dispatch/index.ts";
import { openaiAccount } from "../../../../src/dispatch/providers/openai/index.ts";
import { openStore, type Place } from "../stores/open-store.ts";

export interface FetchCall {
  readonly url: string;
  readonly place: Place;
  readonly count: number;
}

const { url, place, count } = JSON.parse(process.argv[2] ?? "") as FetchCall;
const { store, end } = await openStore(place);
const account = openaiAccount({ client: new OpenAI({ apiKey: "account", baseURL: `${url}/v1` }) });
const dispatcher = createDispatcher({ store, accounts: [account] });
const fetch = batchFetch(dispatcher, { flushAfterMs: 100 });
const options = { apiKey: "caller", baseURL: "http://elsewhere.test/v1", maxRetries: 0, timeout: 60_000 };
const client = new OpenAI({ ...options, fetch });
const answers = await Promise.all(
  Array.from({ length: count }, (_, index) =>
    client.chat.completions.create({ model: "m", messages: [{ role: "user", content: `Question ${index}?` }] }),
  ),
);
console.log(JSON.stringify(answers.map(({ choices }) => choices[0]?.message.content)));
await dispatcher.stop();
await store.close();
await end();

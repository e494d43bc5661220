// A process that runs the loops and asks nothing, until SIGTERM. Argument: JSON of FetchCall.
// Prints a line when its loops run.

import OpenAI from "openai";
import { createDispatcher } from "../../../../src/dispatch/index.ts";
import { openaiAccount } from "../../../../src/dispatch/providers/openai/index.ts";
import { openStore } from "../stores/open-store.ts";
import type { FetchCall } from "./flush-caller-child.ts";

const { url, place } = JSON.parse(process.argv[2] ?? "") as FetchCall;
const { store, end } = await openStore(place);
const client = new OpenAI({ apiKey: "account", baseURL: `${url}/v1` });
const dispatcher = createDispatcher({ store, accounts: [openaiAccount({ client, pollMs: 100 })] });
await dispatcher.start();
console.log("started");
await new Promise((resolve) => void process.once("SIGTERM", resolve));
await dispatcher.stop();
await store.close();
await end();

// Calls a SQLite store in each of the files that it is given, and prints what came of it as a JSON text.

import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { sqliteStore } from "../../../src/dispatch/stores/sqlite/index.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { SimProvider } from "../../dispatch/support/sim-provider.ts";

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;
const account = new SimProvider({ time: virtualClock(0) }).account();
const said: Record<string, unknown> = {};
for (const path of process.argv.slice(2)) {
  const store = sqliteStore({ path });
  const dispatcher = createDispatcher({ store, accounts: [account] });
  const start = await dispatcher.start().then(() => "started", codeOf);
  const read = await store.requests({ ids: ["none"] }).then(() => "read", codeOf);
  said[path] = [start, read];
  await dispatcher.stop();
  await store.close();
}
console.log(JSON.stringify(said));

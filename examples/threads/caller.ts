// A thread of synchronous code, without promises and callbacks, whose calls share batches with
// other threads' calls.

import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { connectBatcher } from "batchwise/threads";
import { hashOf, type Login, type Verdict } from "./check-handler.ts";

export interface Summary {
  readonly number: number;
  readonly accepted: number;
  readonly refused: number;
}

interface Data {
  readonly port: MessagePort;
  readonly number: number;
  readonly logins: number;
}

const { port, number, logins } = workerData as Data;
const check = connectBatcher<Login, Verdict>(port);

const hash = hashOf("open sesame", `${number}`);
let accepted = 0;
for (let turn = 0; turn < logins; turn += 1) {
  const password = turn % 4 === 0 ? "guess" : "open sesame";
  if (check.submitSync({ password, salt: `${number}`, hash }, { timeoutMs: 10_000 }) === "accepted") accepted += 1;
}
parentPort?.postMessage({ number, accepted, refused: logins - accepted } satisfies Summary);

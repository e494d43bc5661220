/** A model thread that misbehaves on demand: the first token of a batch says how. */

import { parentPort } from "node:worker_threads";
import type { FromWorker, ToWorker } from "../../src/models/session-protocol.ts";

/** First tokens that are orders; any other comes back as a vector of its rows and columns. */
const CRASH = 666n;
const EXIT = 667n;
const REFUSE = 668n;

const port = parentPort;
if (port === null) throw new Error("runs in a worker thread only");
const answer = (message: FromWorker): void => port.postMessage(message);

port.on("message", (message: ToWorker) => {
  if (message.type === "close") return port.close();
  const { id, batch } = message;
  const order = batch.ids[0];
  if (order === EXIT) process.exit(7);
  if (order === CRASH) throw new Error("out of luck");
  if (order === REFUSE) return answer({ type: "failed", id, message: "no such token" });
  const data = Float32Array.from({ length: batch.rows }, (_, row) => Number(batch.ids[row * batch.columns]));
  answer({ type: "done", id, vectors: { rows: batch.rows, width: 1, data, notFinite: [], pooledBy: "graph" } });
});
answer({ type: "ready" });

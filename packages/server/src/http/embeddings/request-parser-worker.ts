/** The thread that reads large bodies. Answers each message once, in order; a refusal is an answer too. */

import { parentPort, workerData } from "node:worker_threads";
import type { ModelDescription } from "../../models/embedder.ts";
import { ApiError } from "../errors.ts";
import { jsonObjectIn } from "../requests/body.ts";
import { parseEmbeddingsRequest } from "./embeddings-request.ts";
import type { Parsed, ParseTask } from "./request-parser.ts";

const model = workerData as ModelDescription;

function parse({ id, bytes }: ParseTask): Parsed {
  try {
    const request = parseEmbeddingsRequest(jsonObjectIn(bytes), model);
    // Numbers travel between threads far faster as an array of one type.
    const inputs = request.inputs.map((input) => (typeof input === "string" ? input : Int32Array.from(input)));
    return { id, request: { ...request, inputs } };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, message, param, code, headers } = error;
    return { id, refusal: { status, message, param, code, headers } };
  }
}

parentPort?.on("message", (task: ParseTask) => {
  const parsed = parse(task);
  const buffers = "request" in parsed ? parsed.request.inputs.flatMap(bufferOf) : [];
  parentPort?.postMessage(parsed, buffers);
});

function bufferOf(input: string | ArrayLike<number>): ArrayBuffer[] {
  return input instanceof Int32Array ? [input.buffer as ArrayBuffer] : [];
}

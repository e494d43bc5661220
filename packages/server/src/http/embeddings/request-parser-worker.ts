/**
 * The thread that parses large bodies. Answers each message once, in order; a refusal is an answer,
 * too.
 */

import { parentPort, workerData } from "node:worker_threads";
import type { ModelDescription } from "../../models/embedder.ts";
import { ApiError } from "../errors.ts";
import { jsonObjectIn } from "../requests/body.ts";
import { type EmbeddingsRequest, parseEmbeddingsRequest } from "./embeddings-request.ts";
import type { Parsed } from "./request-parser.ts";

const model = workerData as ModelDescription;

function parse(bytes: Uint8Array): Parsed {
  try {
    const request = parseEmbeddingsRequest(jsonObjectIn(bytes), model);
    return { request: { ...request, inputs: packed(request.inputs) } };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, message, param, code, headers } = error;
    return { refusal: { status, message, param, code, headers } };
  }
}

type Inputs = EmbeddingsRequest["inputs"];

/** The lists of ids as parts of one array, because thousands of arrays take far longer to send. */
function packed(inputs: Inputs): Inputs {
  const lists = inputs.filter((input) => typeof input !== "string");
  const all = new Int32Array(lists.reduce((sum, list) => sum + list.length, 0));
  let end = 0;
  return inputs.map((input) => {
    if (typeof input === "string") return input;
    const start = end;
    end += input.length;
    all.set(input, start);
    return all.subarray(start, end);
  });
}

parentPort?.on("message", (bytes: Uint8Array) => {
  const parsed = parse(bytes);
  const list = "request" in parsed ? parsed.request.inputs.find((input) => input instanceof Int32Array) : undefined;
  parentPort?.postMessage(parsed, list === undefined ? [] : [list.buffer as ArrayBuffer]);
});

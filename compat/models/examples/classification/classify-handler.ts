// The module of a thread: makes the pipeline and its handler. A run of the model blocks only this
// thread.

import { basename, dirname } from "node:path";
import { workerData } from "node:worker_threads";
import { env, pipeline } from "@huggingface/transformers";
import { pipelineHandler } from "batchwise/onnx";

export interface Label {
  readonly label: string;
  readonly score: number;
}

const { folder } = workerData as { readonly folder: string };
// Loads models only from this disk.
env.allowRemoteModels = false;
env.localModelPath = dirname(folder);

const classify = await pipeline("text-classification", basename(folder), {
  dtype: "fp32",
  session_options: { intraOpNumThreads: 1 },
});

export default pipelineHandler<Label>(classify, { dispose: true });

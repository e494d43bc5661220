// The handler that runs in the threads of `onnxModel`: a session of onnxruntime-node. A run blocks
// its thread from start to end.
//
// Guarantees: nothing else in the thread holds an answer's buffers, so they can be transferred.

import { workerData } from "node:worker_threads";
import type { ModelInputs } from "./feeds.ts";
import { type OnnxHandler, onnxHandler, outputsOf } from "./onnx-handler.ts";
import { type NodeSession, openSession } from "./open-session.ts";
import type { ModelData, SessionAnswer, SessionCall, SessionDescription } from "./session-protocol.ts";

class ModelThread {
  readonly #data: ModelData;
  #session: NodeSession | undefined;
  #handler: OnnxHandler<Extract<SessionCall, object>, Extract<SessionAnswer, object>> | undefined;
  #description: SessionDescription = { inputNames: [], outputNames: [] };

  constructor(data: ModelData) {
    this.#data = data;
  }

  async open(): Promise<void> {
    const session = await openSession(this.#data);
    this.#session = session;
    const outputNames = outputsOf(session, this.#data.outputs);
    this.#handler = onnxHandler(session, { outputs: outputNames }) as never;
    this.#description = { ...inputsOf(session), outputNames };
  }

  async run([call]: readonly SessionCall[]): Promise<SessionAnswer[]> {
    if (call === "describe") return [this.#description];
    return [(await this.#handler?.(call as never)) as SessionAnswer];
  }

  async close(): Promise<void> {
    await this.#session?.release();
  }
}

/** Plain data, which is sent to the batcher's thread. */
function inputsOf({ inputNames, inputMetadata }: NodeSession): ModelInputs {
  if (inputMetadata === undefined) return { inputNames: [...inputNames] };
  return { inputNames: [...inputNames], inputMetadata: inputMetadata.map((info) => ({ ...info })) };
}

const thread: ModelThread = new ModelThread(workerData as ModelData);

export default thread;

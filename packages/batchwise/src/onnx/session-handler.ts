// What a model's threads run: a session of onnxruntime-node. A run of it blocks its thread from start to end.
//
// Guarantees: an answer's buffers belong to nobody else here, so that they may be handed over.

import { setPriority } from "node:os";
import { workerData } from "node:worker_threads";
import { modelLoadError, runtimeLoadError } from "./errors.ts";
import { type OnnxHandler, onnxHandler, outputsOf } from "./onnx-handler.ts";
import type { OnnxSession } from "./session.ts";
import type { SessionAnswer, SessionCall, SessionData, SessionDescription } from "./session-protocol.ts";

/** The event loop's thread goes first where both want a core. */
const NICENESS = 5;

interface NodeSession extends OnnxSession {
  release(): PromiseLike<void>;
}

interface NodeRuntime {
  readonly InferenceSession: { create(path: string, options: object): PromiseLike<NodeSession> };
}

class ModelThread {
  readonly #data: SessionData;
  #session: NodeSession | undefined;
  #handler: OnnxHandler<Extract<SessionCall, object>, Extract<SessionAnswer, object>> | undefined;
  #description: SessionDescription = { inputNames: [], outputNames: [] };

  constructor(data: SessionData) {
    this.#data = data;
  }

  async open(): Promise<void> {
    const { path, outputs, sessionOptions } = this.#data;
    letOthersGoFirst();
    const { InferenceSession } = await loadRuntime();
    const session = await load(() => InferenceSession.create(path, sessionOptions), path);
    this.#session = session;
    const outputNames = outputsOf(session, outputs);
    this.#handler = onnxHandler(session, { outputs: outputNames }) as never;
    this.#description = { inputNames: [...session.inputNames], outputNames };
  }

  async run([call]: readonly SessionCall[]): Promise<SessionAnswer[]> {
    if (call === "describe") return [this.#description];
    return [(await this.#handler?.(call as never)) as SessionAnswer];
  }

  async close(): Promise<void> {
    await this.#session?.release();
  }
}

async function loadRuntime(): Promise<NodeRuntime> {
  try {
    return (await import("onnxruntime-node")) as never;
  } catch (error) {
    throw runtimeLoadError(error);
  }
}

async function load(create: () => PromiseLike<NodeSession>, path: string): Promise<NodeSession> {
  try {
    return await create();
  } catch (error) {
    throw modelLoadError(path, error);
  }
}

/** On Linux a thread has a priority of its own; elsewhere this would be the whole process's. */
function letOthersGoFirst(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, NICENESS);
  } catch {
    // Not allowed here: all threads stay alike.
  }
}

const thread: ModelThread = new ModelThread(workerData as SessionData);

export default thread;

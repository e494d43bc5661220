// A session of onnxruntime-node in a model's thread.

import { setPriority } from "node:os";
import { modelLoadError, runtimeLoadError } from "./errors.ts";
import { checkModelFile } from "./model-file.ts";
import type { OnnxSession } from "./session.ts";

export interface NodeSession extends OnnxSession {
  release(): PromiseLike<void>;
}

/** What a model's thread is told in `workerData`. */
export interface SessionData {
  readonly path: string;
  readonly sessionOptions: Readonly<Record<string, unknown>>;
}

interface NodeRuntime {
  readonly InferenceSession: { create(path: string, options: object): PromiseLike<NodeSession> };
}

/** The event loop's thread goes first where both want a core. */
const NICENESS = 5;

/** Rejects with MODEL_LOAD. */
export async function openSession({ path, sessionOptions }: SessionData): Promise<NodeSession> {
  letOthersGoFirst();
  const { InferenceSession } = await loadRuntime();
  try {
    await checkModelFile(path);
    return await InferenceSession.create(path, sessionOptions);
  } catch (error) {
    throw modelLoadError(path, error);
  }
}

async function loadRuntime(): Promise<NodeRuntime> {
  try {
    return (await import("onnxruntime-node")) as never;
  } catch (error) {
    throw runtimeLoadError(error);
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

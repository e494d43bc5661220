// Opens a session of onnxruntime-node in a model's thread.

import { modelLoadError, runtimeLoadError } from "./errors.ts";
import { letOthersGoFirst } from "./low-priority.ts";
import { checkModelFile } from "./model-file.ts";
import type { OnnxSession } from "./session.ts";

export interface NodeSession extends OnnxSession {
  release(): PromiseLike<void>;
}

/** The `workerData` of a model's thread. */
export interface SessionData {
  readonly path: string;
  readonly sessionOptions: Readonly<Record<string, unknown>>;
}

interface NodeRuntime {
  readonly InferenceSession: { create(path: string, options: object): PromiseLike<NodeSession> };
}

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

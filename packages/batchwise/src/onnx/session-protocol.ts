// The messages between a model's threads and the batcher's thread. Types only.

import type { Tensor, TensorLike } from "../tensor/types.ts";
import type { ModelInputs } from "./feeds.ts";
import type { SessionData } from "./open-session.ts";

/** The `workerData`. */
export interface ModelData extends SessionData {
  readonly outputs: readonly string[] | undefined;
}

/** The single item of a batch for a thread. */
export type SessionCall = "describe" | Readonly<Record<string, TensorLike>>;

export interface SessionDescription extends ModelInputs {
  readonly outputNames: readonly string[];
}

export type SessionAnswer = SessionDescription | Readonly<Record<string, Tensor>>;

// What a model's threads are given, and what they answer. Types only.

import type { Tensor, TensorLike } from "../tensor/types.ts";
import type { ModelInputs } from "./feeds.ts";
import type { SessionData } from "./open-session.ts";

/** In `workerData`. */
export interface ModelData extends SessionData {
  readonly outputs: readonly string[] | undefined;
}

/** The one item of a batch for a thread. */
export type SessionCall = "describe" | Readonly<Record<string, TensorLike>>;

export interface SessionDescription extends ModelInputs {
  readonly outputNames: readonly string[];
}

export type SessionAnswer = SessionDescription | Readonly<Record<string, Tensor>>;

// The part of the official `@google/genai` client (2.15 and later, for Vertex AI) that the adapter
// calls, by shape. Nothing is imported from the SDK, and its answers are read as unknown JSON. Jobs
// are listed through the transport below the client's methods: `batches.list` turns any answer that
// is no list into an empty page.

import type { CallOptions } from "../../contract/account.ts";
import { LONGEST_MS } from "../shapes/google/google-client.ts";

/** Set on each call, so that a new default of the client has no effect. */
export const API_VERSION = "v1beta1";

interface HttpOptions {
  readonly apiVersion: string;
  /** Whole milliseconds. */
  readonly timeout: number;
  /** One attempt, even if the client is configured to retry. */
  readonly retryOptions: { readonly attempts: 1 };
}

/** Settings of each call. */
export interface VertexCall {
  readonly httpOptions: HttpOptions;
  readonly abortSignal: AbortSignal;
}

/** Parameters of `batches.create`. */
export interface VertexCreate {
  readonly model: string;
  readonly src: { readonly format: "jsonl"; readonly gcsUri: string[] };
  readonly config: {
    readonly displayName: string;
    readonly dest: { readonly format: "jsonl"; readonly gcsUri: string };
    /** The SDK has no field for labels; it merges `extraBody` into the job. */
    readonly httpOptions: HttpOptions & { readonly extraBody: { readonly labels: Readonly<Record<string, string>> } };
    readonly abortSignal: AbortSignal;
  };
}

/** `new GoogleGenAI({ vertexai: true, project, location })`. */
export interface VertexClient {
  /** False for a client of the Gemini API, which has another Batch API. */
  readonly vertexai: boolean;
  readonly batches: {
    create(params: VertexCreate): PromiseLike<unknown>;
    get(params: { readonly name: string; readonly config: VertexCall }): PromiseLike<unknown>;
    cancel(params: { readonly name: string; readonly config: VertexCall }): PromiseLike<unknown>;
    delete(params: { readonly name: string; readonly config: VertexCall }): PromiseLike<unknown>;
  };
}

export function vertexCall({ signal, timeoutMs }: CallOptions): VertexCall {
  const timeout = Math.min(LONGEST_MS, Math.ceil(timeoutMs));
  return { httpOptions: { apiVersion: API_VERSION, timeout, retryOptions: { attempts: 1 } }, abortSignal: signal };
}

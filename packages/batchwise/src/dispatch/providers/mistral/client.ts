// The part of the official `@mistralai/mistralai` client (2.0 and later) that the adapter calls, by
// shape. Nothing is imported from the SDK, and its answers are read as unknown JSON.

import type { Unredirected } from "../shapes/sdk/redirects.ts";

/** Settings of every call. The dispatcher controls retries and timeouts. */
export interface MistralCallSettings {
  readonly retries: { readonly strategy: "none" };
  /** Includes the timeout: with a signal the client ignores its own `timeoutMs`. */
  readonly signal: AbortSignal;
}

export type MistralDownloadSettings = MistralCallSettings & Unredirected;

/** The body of a new job: files or inline requests, one endpoint and one model. */
export interface MistralJobBody {
  readonly inputFiles?: string[];
  readonly requests?: { customId: string; body: { [name: string]: unknown } }[];
  readonly endpoint: "/v1/chat/completions";
  readonly model: string;
  readonly metadata: { [name: string]: string };
  readonly timeoutHours: number;
}

/** One page of jobs, newest first; with `metadata`, only matching ones. */
export interface MistralJobQuery {
  readonly page: number;
  readonly pageSize: number;
  readonly orderBy: "-created";
  readonly metadata?: { [name: string]: string };
}

/** One page of uploaded batch files. */
export interface MistralFileQuery {
  readonly page: number;
  readonly pageSize: number;
  readonly purpose: "batch";
}

/** A Mistral client: `new Mistral()`, or an object with these methods. */
export interface MistralClient {
  readonly files: {
    upload(body: { readonly file: Blob; readonly purpose: "batch" }, call: MistralCallSettings): PromiseLike<unknown>;
    /** The bytes of a file, as a web stream. */
    download(file: { readonly fileId: string }, call: MistralDownloadSettings): PromiseLike<unknown>;
    list(query: MistralFileQuery, call: MistralCallSettings): PromiseLike<unknown>;
    delete(file: { readonly fileId: string }, call: MistralCallSettings): PromiseLike<unknown>;
  };
  readonly batch: {
    readonly jobs: {
      create(body: MistralJobBody, call: MistralCallSettings): PromiseLike<unknown>;
      get(job: { readonly jobId: string; readonly inline?: boolean }, call: MistralCallSettings): PromiseLike<unknown>;
      list(query: MistralJobQuery, call: MistralCallSettings): PromiseLike<unknown>;
      cancel(job: { readonly jobId: string }, call: MistralCallSettings): PromiseLike<unknown>;
      delete(job: { readonly jobId: string }, call: MistralCallSettings): PromiseLike<unknown>;
    };
  };
}

// The part of the official `@mistralai/mistralai` client (2.0 and later) that the adapter calls, by
// shape: nothing is imported from the SDK, and its answers are read as unknown JSON.

import type { Unredirected } from "../shapes/redirects.ts";

/** Settings of every call: the dispatcher owns retries and time. */
export interface MistralCallSettings {
  readonly retries: { readonly strategy: "none" };
  /**
   * The client ignores its own `timeoutMs` where it is given a signal, so this one carries the time
   * too.
   */
  readonly signal: AbortSignal;
}

export type MistralDownloadSettings = MistralCallSettings & Unredirected;

/** What a job is created from: files or inline requests, one endpoint and one model. */
export interface MistralJobBody {
  readonly inputFiles?: string[];
  readonly requests?: { customId: string; body: { [name: string]: unknown } }[];
  readonly endpoint: "/v1/chat/completions";
  readonly model: string;
  readonly metadata: { [name: string]: string };
  readonly timeoutHours: number;
}

/** One page of jobs, newest first; with `metadata`, of those that have it. */
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

/** A client of Mistral: `new Mistral()`, or an object with these methods. */
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

// Adapts Together's own client, `together-ai`, to OpenAI's shape. Its lists take only settings, and
// its `files.upload` reads a file from disk, so files use its `post`, as the service's record says.

import type { DownloadSettings } from "../shapes/sdk/redirects.ts";
import type { CallSettings } from "../shapes/sdk/sdk-call.ts";
import type { BatchCreateBody, OpenAiClient, RawCall } from "./client.ts";

/** The part of `new Together()` of `together-ai` that the account calls. */
export interface TogetherClient {
  readonly files: {
    /** Never called: it distinguishes this client from OpenAI's. */
    upload(file: string, purpose: "batch-api"): PromiseLike<unknown>;
    content(fileId: string, call: DownloadSettings): PromiseLike<{ readonly body: unknown }>;
    list(call: CallSettings): PromiseLike<unknown>;
    delete(fileId: string, call: CallSettings): PromiseLike<unknown>;
  };
  readonly batches: {
    create(body: BatchCreateBody, call: CallSettings): PromiseLike<unknown>;
    retrieve(batchId: string, call: CallSettings): PromiseLike<unknown>;
    list(call: CallSettings): PromiseLike<unknown>;
    cancel(batchId: string, call: CallSettings): PromiseLike<unknown>;
  };
  post(path: string, options: RawCall): PromiseLike<unknown>;
}

/** True for a client with `files.upload` and without `files.create`. */
export function isTogether(client: OpenAiClient | TogetherClient): client is TogetherClient {
  const { files } = client as { readonly files?: object | null };
  const has = (name: string): boolean => typeof (files as Readonly<Record<string, unknown>>)[name] === "function";
  return typeof files === "object" && files !== null && has("upload") && !has("create");
}

export function inOpenAiShape(client: TogetherClient): OpenAiClient {
  const { files, batches } = client;
  return {
    files: {
      create: () => Promise.reject(new Error("Together's client takes no file that streams.")),
      content: (id, call) => files.content(id, call),
      list: (_query, call) => files.list(call),
      delete: (id, call) => files.delete(id, call),
    },
    batches: {
      create: (body, call) => batches.create(body, call),
      retrieve: (id, call) => batches.retrieve(id, call),
      list: (_query, call) => batches.list(call),
      cancel: (id, call) => batches.cancel(id, call),
    },
    post: (path, options) => client.post(path, options),
  };
}

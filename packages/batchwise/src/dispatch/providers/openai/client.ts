// The part of the official `openai` client (5.0 and later) that the adapter calls, by shape.
// Nothing is imported from the SDK, and its answers are read as unknown JSON. Azure's client and a
// custom object of this shape fit too.

import type { DownloadSettings, Unredirected } from "../shapes/sdk/redirects.ts";
import type { CallSettings } from "../shapes/sdk/sdk-call.ts";

/** A file that the SDK streams without reading it into memory first. */
export interface UploadSource extends AsyncIterable<Uint8Array> {
  readonly path: string;
}

/** The body of a create. */
export interface BatchCreateBody {
  readonly input_file_id: string;
  /** Any text: the SDK's type lists only OpenAI's endpoints. */
  readonly endpoint: "/v1/chat/completions";
  readonly completion_window: "24h";
  readonly metadata?: Record<string, string>;
}

/** The page of a list to get. */
export interface PageQuery {
  readonly limit?: number;
  readonly after?: string;
  readonly purpose?: string;
}

/** The part of the official client that the account calls. */
export interface OpenAiClient {
  readonly files: {
    /** Also sends the fields of the account's `uploadExtras`. */
    create(body: { readonly file: UploadSource; readonly purpose: "batch" }, call: CallSettings): PromiseLike<unknown>;
    /** A fetch Response, or any object with a `body`. */
    content(fileId: string, call: DownloadSettings): PromiseLike<{ readonly body: unknown }>;
    list(query: PageQuery, call: CallSettings): PromiseLike<unknown>;
    /** Needed for services with `processesFiles`. */
    retrieve?(fileId: string, call: CallSettings): PromiseLike<unknown>;
    delete(fileId: string, call: CallSettings): PromiseLike<unknown>;
  };
  readonly batches: {
    create(body: BatchCreateBody, call: CallSettings): PromiseLike<unknown>;
    retrieve(batchId: string, call: CallSettings): PromiseLike<unknown>;
    list(query: PageQuery, call: CallSettings): PromiseLike<unknown>;
    cancel(batchId: string, call: CallSettings): PromiseLike<unknown>;
  };
  /** Needed for services with an `uploadPath`. */
  post?(path: string, options: RawCall): PromiseLike<unknown>;
}

/** A call for which the client has no method. */
export interface RawCall extends CallSettings {
  readonly body?: AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetchOptions?: Unredirected["fetchOptions"];
}

// The part of the official `@google/genai` client (2.15 and later) that the adapter uses, by shape.
// Nothing is imported from the SDK, and its answers are read as unknown JSON.
//
// Uploads use the client's `files`. All other calls use the transport below the client's methods,
// with its address, key, headers and `fetch`, because the methods lose data: `batches.get` omits
// the failure and the counts, inline requests and responses lose fields that the SDK does not know,
// and `files.download` writes to disk and throws outside of its promise when the connection is cut.

import { unlessAborted } from "../../../core/contract/unless-aborted.ts";
import type { CallOptions } from "../../contract/account.ts";
import {
  googleVersion,
  type Query,
  requestJson,
  responseOf,
  type Transport,
  transportOf,
} from "../shapes/google/google-client.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";

/** Batches and files are documented only for this version; @google/genai 3 defaults to "v1". */
const API_VERSION = "v1beta";

/** An upload: the lines of a batch, and their file's name. */
export interface GeminiUpload {
  readonly file: Blob;
  readonly config: {
    readonly displayName: string;
    readonly mimeType: string;
    readonly httpOptions?: { readonly apiVersion: string };
  };
}

/** `new GoogleGenAI({ apiKey })` of `@google/genai`: the members that the account uses. */
export interface GeminiClient {
  /** True for a client of Vertex AI, which has another Batch API. */
  readonly vertexai: boolean;
  readonly files: { upload(params: GeminiUpload): PromiseLike<unknown> };
}

/** Makes each call once, even if the client is configured to retry. */
export class GeminiWire {
  readonly #client: GeminiClient;
  readonly #transport: Transport;
  readonly #uploadOptions: Pick<GeminiUpload["config"], "httpOptions">;

  constructor(client: GeminiClient) {
    this.#client = client;
    this.#transport = transportOf(client);
    // Before version 3 the client adds the API version to upload addresses itself and takes no
    // options.
    const { major } = googleVersion(client) ?? { major: 3 };
    this.#uploadOptions = major < 3 ? {} : { httpOptions: { apiVersion: API_VERSION } };
  }

  get(path: string, query: Query, call: CallOptions): Promise<unknown> {
    return requestJson(this.#transport, API_VERSION, { path, httpMethod: "GET", queryParams: query }, call);
  }

  post(path: string, body: object, call: CallOptions): Promise<unknown> {
    return requestJson(
      this.#transport,
      API_VERSION,
      { path, httpMethod: "POST", queryParams: {}, body: JSON.stringify(body) },
      call,
    );
  }

  delete(path: string, call: CallOptions): Promise<unknown> {
    return requestJson(this.#transport, API_VERSION, { path, httpMethod: "DELETE", queryParams: {}, body: "{}" }, call);
  }

  /**
   * The bytes of a file, as they arrive. Only the signal ends a download: the client's timeout
   * would cut long ones.
   */
  async download(name: string, { signal }: CallOptions): Promise<unknown> {
    const answer = await this.#transport.request({
      ...{ path: `${name}:download`, httpMethod: "GET", queryParams: { alt: "media" } },
      ...{ httpOptions: { apiVersion: API_VERSION, retryOptions: { attempts: 1 } }, abortSignal: signal },
    });
    return responseOf(answer).body;
  }

  /**
   * Uploads the file and returns its name. The client cannot abort an upload, so an abandoned one
   * leaves an unused file.
   */
  async upload(file: Blob, displayName: string, { signal }: CallOptions): Promise<string> {
    signal.throwIfAborted();
    const config = { displayName, mimeType: "application/jsonl", ...this.#uploadOptions };
    const uploading = Promise.resolve(this.#client.files.upload({ file, config }));
    const uploaded = await unlessAborted(uploading, signal);
    const name = text(objectOf(uploaded).name);
    if (name === null) throw new Error("The provider answered the upload without a file name.");
    return name;
  }
}

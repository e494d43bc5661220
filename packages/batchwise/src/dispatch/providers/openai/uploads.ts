// Uploads a batch's lines as a file: by the client's `files.create`, by a form for services that
// require one, or by the user's function. Files are streamed, never held whole. An upload runs
// nothing, so a duplicate costs only a file, which the sweep deletes.

import type { BatchInput, CallOptions } from "../../contract/account.ts";
import type { JsonObject } from "../../contract/types.ts";
import { headerOf } from "../../format/headers.ts";
import { fileIdOf } from "../shapes/files.ts";
import { chunksOf } from "../shapes/lines/line-chunks.ts";
import { bareFetch, UNREDIRECTED } from "../shapes/sdk/redirects.ts";
import { callSettings } from "../shapes/sdk/sdk-call.ts";
import { objectOf, readSdkError } from "../shapes/sdk/sdk-error.ts";
import type { OpenAiClient, UploadSource } from "./client.ts";

export type Upload = (input: BatchInput, call: CallOptions) => Promise<{ readonly fileId: string }>;

/** The facts that `uploadExtras` gets. */
export type UploadFacts = Pick<BatchInput, "fileName" | "requests" | "bytes">;

/** Upload settings of one account. */
export interface UploadSettings {
  readonly client: OpenAiClient;
  /** The user's own client. */
  readonly own: unknown;
  readonly purpose: string;
  readonly extrasOf: (facts: UploadFacts) => JsonObject;
}

const ENCODER = new TextEncoder();
const MOST_SAID = 1_000;

/** Uploads with the client's own method. */
export function uploadFile({ client, purpose, extrasOf }: UploadSettings): Upload {
  return async (input, call) => {
    const body = { ...extrasOf(input), file: sourceOf(input), purpose: purpose as "batch" };
    return { fileId: fileIdOf(await client.files.create(body, callSettings(call))) };
  };
}

/**
 * Uploads a form to a path of its own. A redirect names a storage, which gets the file by PUT and
 * without our headers.
 */
export function uploadForm({ client, own, purpose, extrasOf }: UploadSettings, path: string): Upload {
  return async (input, call) => {
    const fields = { ...extrasOf(input), purpose, file_name: input.fileName, file_type: "jsonl" };
    const boundary = `batchwise-${input.fileName}`;
    const form = {
      body: formOf(boundary, fields, input),
      headers: { "content-type": `multipart/form-data; boundary="${boundary}"` },
      ...UNREDIRECTED,
    };
    try {
      return { fileId: fileIdOf(await client.post?.(path, { ...form, ...callSettings(call) })) };
    } catch (error) {
      const target = redirectOf(error);
      if (target === null) throw error;
      await putFile(own, target.url, input, call);
      await announce(client, target.fileId, call);
      return { fileId: target.fileId };
    }
  };
}

/** The file's destination; null for an error that is no redirect. */
function redirectOf(error: unknown): { readonly url: string; readonly fileId: string } | null {
  const { status, headers } = objectOf(error);
  if (status !== 302 && status !== 303 && status !== 307) return null;
  const [url, fileId] = [headerOf(headers, "location"), headerOf(headers, "x-together-file-id")];
  return url === null || fileId === null ? null : { url, fileId };
}

/** Sends the file to a signed address. No header of the client is sent. */
async function putFile(own: unknown, url: string, input: BatchInput, { signal }: CallOptions): Promise<void> {
  const headers = { "content-type": "application/octet-stream", "content-length": String(await lengthOf(input)) };
  const init = { method: "PUT", headers, body: chunksOf(input.lines()), duplex: "half", signal };
  const response = await bareFetch(own, url, init as unknown as RequestInit);
  const { status } = response;
  if (response.ok) return response.body?.cancel();
  const said = (await response.text()).slice(0, MOST_SAID);
  const words = `The storage that the provider named refused the file (${status}): ${said}`;
  // A storage's error is not about the account, so only a 5xx keeps its status.
  throw status >= 500 ? Object.assign(new Error(words), { status }) : new Error(words);
}

/** Confirms that the storage has the file, as the provider's own clients do. */
async function announce(client: OpenAiClient, fileId: string, call: CallOptions): Promise<void> {
  try {
    await client.post?.(`/files/${fileId}/preprocess`, callSettings(call));
  } catch (error) {
    if (readSdkError(error).status !== 404) throw error;
  }
}

/** Yields the form. Lines are JSON and end in "\n", so the boundary cannot occur in them. */
async function* formOf(boundary: string, fields: JsonObject, input: BatchInput): AsyncGenerator<Uint8Array> {
  for (const [name, value] of Object.entries(fields)) {
    const written = typeof value === "string" ? value : JSON.stringify(value);
    yield ENCODER.encode(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${written}\r\n`);
  }
  const head = `content-disposition: form-data; name="file"; filename="${input.fileName}"`;
  yield ENCODER.encode(`--${boundary}\r\n${head}\r\ncontent-type: application/octet-stream\r\n\r\n`);
  yield* chunksOf(input.lines());
  yield ENCODER.encode(`\r\n--${boundary}--\r\n`);
}

/** The lines as a file that the client streams, in chunks, because one write per line is slow. */
function sourceOf(input: BatchInput): UploadSource {
  return { path: input.fileName, [Symbol.asyncIterator]: () => chunksOf(input.lines()) };
}

/** Bytes of the file. A batch's stored size is an upper bound over all accounts' encodings. */
async function lengthOf(input: BatchInput): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunksOf(input.lines())) bytes += chunk.length;
  return bytes;
}

// How a batch's lines become a file at the provider: by the client's `files.create`, as a form that
// some services want in its place, or by a function of the user's. Files stream; nothing holds a
// whole one. An upload runs nothing, so one that is sent twice costs nothing but a file that the
// sweep deletes.

import type { BatchInput, CallOptions } from "../../contract/account.ts";
import type { JsonObject } from "../../contract/types.ts";
import { chunksOf } from "../shapes/line-chunks.ts";
import { bareFetch, UNREDIRECTED } from "../shapes/redirects.ts";
import { callSettings } from "../shapes/sdk-call.ts";
import { objectOf, readSdkError, text } from "../shapes/sdk-error.ts";
import type { OpenAiClient, UploadSource } from "./client.ts";

export type Upload = (input: BatchInput, call: CallOptions) => Promise<{ readonly fileId: string }>;

/** What `uploadExtras` may look at. */
export type UploadFacts = Pick<BatchInput, "fileName" | "requests" | "bytes">;

/** How one account uploads. */
export interface UploadManner {
  readonly client: OpenAiClient;
  /** The user's own object. */
  readonly own: unknown;
  readonly purpose: string;
  readonly extrasOf: (facts: UploadFacts) => JsonObject;
}

const ENCODER = new TextEncoder();
const MOST_SAID = 1_000;

/** By the client's own method. */
export function uploadFile({ client, purpose, extrasOf }: UploadManner): Upload {
  return async (input, call) => {
    const body = { ...extrasOf(input), file: sourceOf(input), purpose: purpose as "batch" };
    return fileIdOf(await client.files.create(body, callSettings(call)));
  };
}

/**
 * As a form at a path of its own. A redirect names a storage, which takes the file by PUT and
 * without our headers.
 */
export function uploadForm({ client, own, purpose, extrasOf }: UploadManner, path: string): Upload {
  return async (input, call) => {
    const fields = { ...extrasOf(input), purpose, file_name: input.fileName, file_type: "jsonl" };
    const boundary = `batchwise-${input.fileName}`;
    const form = {
      body: formOf(boundary, fields, input),
      headers: { "content-type": `multipart/form-data; boundary="${boundary}"` },
      ...UNREDIRECTED,
    };
    try {
      return fileIdOf(await client.post?.(path, { ...form, ...callSettings(call) }));
    } catch (error) {
      const target = redirectOf(error);
      if (target === null) throw error;
      await putFile(own, target.url, input, call);
      await announce(client, target.fileId, call);
      return { fileId: target.fileId };
    }
  };
}

function fileIdOf(answer: unknown): { readonly fileId: string } {
  const fileId = text(objectOf(answer).id);
  if (fileId === null) throw new Error("The provider answered the upload without a file id.");
  return { fileId };
}

/** Where the file is to go; null for an error that is no redirect. */
function redirectOf(error: unknown): { readonly url: string; readonly fileId: string } | null {
  const { status, headers } = objectOf(error);
  if (status !== 302 && status !== 303 && status !== 307) return null;
  const header = (name: string): string | null => (headers instanceof Headers ? text(headers.get(name)) : null);
  const [url, fileId] = [header("location"), header("x-together-file-id")];
  return url === null || fileId === null ? null : { url, fileId };
}

/** The address is signed: it needs no header of the client, and another host gets none. */
async function putFile(own: unknown, url: string, input: BatchInput, { signal }: CallOptions): Promise<void> {
  const headers = { "content-type": "application/octet-stream", "content-length": String(await lengthOf(input)) };
  const init = { method: "PUT", headers, body: chunksOf(input.lines()), duplex: "half", signal };
  const response = await bareFetch(own, url, init as unknown as RequestInit);
  const { status } = response;
  if (response.ok) return response.body?.cancel();
  const said = (await response.text()).slice(0, MOST_SAID);
  const words = `The storage that the provider named refused the file (${status}): ${said}`;
  // What a storage says of its own address says nothing about the account.
  throw status >= 500 ? Object.assign(new Error(words), { status }) : new Error(words);
}

/** The provider's clients tell it so when the storage has the file. */
async function announce(client: OpenAiClient, fileId: string, call: CallOptions): Promise<void> {
  try {
    await client.post?.(`/files/${fileId}/preprocess`, callSettings(call));
  } catch (error) {
    if (readSdkError(error).status !== 404) throw error;
  }
}

/** Lines are JSON and end in "\n", so a line break before the boundary is never theirs. */
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

/**
 * The lines as a file that the client streams: joined to chunks, because one write a line is slow.
 */
function sourceOf(input: BatchInput): UploadSource {
  return { path: input.fileName, [Symbol.asyncIterator]: () => chunksOf(input.lines()) };
}

/**
 * A batch's stored size is that of its longest encoding by any account: the file may be shorter.
 */
async function lengthOf(input: BatchInput): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunksOf(input.lines())) bytes += chunk.length;
  return bytes;
}

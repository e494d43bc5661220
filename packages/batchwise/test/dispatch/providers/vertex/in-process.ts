// A storage in a fake Cloud Storage without a socket, for virtual time, because the official client
// takes no `fetch`. And a Vertex AI account over it, whose own client does.

import { GoogleGenAI } from "@google/genai";
import type { ObjectStorage } from "batchwise/dispatch";
import type { FakeProvider, FakeStorage } from "batchwise/dispatch/testing";
import { vertexAccount } from "batchwise/dispatch/vertex";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { objectNotFoundError } from "../../../../src/dispatch/contract/errors.ts";

const ROOT = "gs://bucket/";
const API = "http://fake.test/storage/v1/b/bucket/o";
const UPLOAD = "http://fake.test/upload/storage/v1/b/bucket/o?uploadType=multipart";

const keyOf = (nameOrUri: string): string => nameOrUri.replace(ROOT, "");
const pathOf = (nameOrUri: string): string => `${API}/${encodeURIComponent(keyOf(nameOrUri))}`;

async function answered(work: Promise<Response>): Promise<Response> {
  const response = await work;
  if (response.ok) return response;
  throw Object.assign(new Error(await response.text()), { status: response.status });
}

function storageOf({ fetch }: FakeStorage): ObjectStorage {
  return {
    async put(name, chunks, { signal }) {
      const pieces: Uint8Array[] = [];
      for await (const chunk of chunks) pieces.push(chunk);
      const media = Buffer.concat(pieces).toString();
      const body = `--b\r\na: b\r\n\r\n{}\r\n--b\r\na: b\r\n\r\n${media}\r\n--b--`;
      const headers = { "content-type": "multipart/related; boundary=b" };
      await answered(fetch(`${UPLOAD}&name=${encodeURIComponent(name)}`, { method: "POST", headers, body, signal }));
      return { uri: ROOT + name };
    },
    async *get(nameOrUri, { signal }) {
      const response = await fetch(`${pathOf(nameOrUri)}?alt=media`, { signal });
      if (response.status === 404) throw objectNotFoundError(nameOrUri);
      const { body } = await answered(Promise.resolve(response));
      if (body !== null) yield* body as AsyncIterable<Uint8Array>;
    },
    async *list(prefix, { signal }) {
      const query = new URLSearchParams({ prefix: keyOf(prefix) });
      const page = await (await answered(fetch(`${API}?${query}`, { signal }))).json();
      const { items = [] } = page as { items?: { name: string; size: string }[] };
      for (const { name, size } of items) yield { name, uri: ROOT + name, bytes: Number(size) };
    },
    async delete(nameOrUri, { signal }) {
      const response = await fetch(pathOf(nameOrUri), { method: "DELETE", signal });
      if (response.status !== 404) await answered(Promise.resolve(response));
    },
    uriOf: (name) => ROOT + name,
  };
}

const authClient = { getRequestHeaders: async () => new Headers({ authorization: "Bearer token" }) };

/** All models belong to this publisher. */
export function vertexInProcess(fake: FakeProvider, gcs: FakeStorage, publisher: string): Account {
  const client = new GoogleGenAI({
    ...{ vertexai: true, project: "my-project", location: "us-central1" },
    httpOptions: { baseUrl: "http://fake.test", fetch: fake.fetch },
    googleAuthOptions: { authClient: authClient as never },
  });
  const modelPath = (model: string) => `publishers/${publisher}/models/${model}`;
  return vertexAccount({ client, storage: storageOf(gcs), modelPath });
}

// A Vertex AI account over the official clients of Vertex AI and Cloud Storage, at fakes of both
// over real HTTP.

import { GoogleGenAI } from "@google/genai";
import { Storage } from "@google-cloud/storage";
import { type GcsClient, gcsStorage } from "batchwise/dispatch/storage";
import {
  type FakeOptions,
  type FakeProvider,
  type FakeStorage,
  fakeGcs,
  fakeProvider,
} from "batchwise/dispatch/testing";
import { type VertexAccountOptions, type VertexClient, vertexAccount } from "batchwise/dispatch/vertex";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { onTestFinished } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";

const START: number = Date.UTC(2026, 0, 1);

/**
 * The client gets a token before each call. This one returns it at once; Google's would call a
 * metadata server.
 */
const authClient = { getRequestHeaders: async () => new Headers({ authorization: "Bearer token" }) };

function vertexOptions(url: string) {
  return {
    ...{ vertexai: true, project: "my-project", location: "us-central1" },
    httpOptions: { baseUrl: url },
    googleAuthOptions: { authClient: authClient as never },
  };
}

export function vertexClient(url: string): GoogleGenAI {
  return new GoogleGenAI(vertexOptions(url));
}

/** The client classes of one version, with the options that the tests use. */
export interface GoogleClients {
  readonly GoogleGenAI: new (options: ReturnType<typeof vertexOptions>) => VertexClient;
  readonly Storage: new (options: {
    readonly apiEndpoint: string;
    readonly projectId: string;
    readonly retryOptions: { readonly autoRetry: boolean };
  }) => GcsClient;
}

export interface VertexRig {
  readonly account: Account;
  readonly fake: FakeProvider;
  readonly gcs: FakeStorage;
  readonly clock: VirtualClock;
}

export async function openVertex(
  options: FakeOptions = {},
  own: Partial<VertexAccountOptions> = {},
  clients: GoogleClients = { GoogleGenAI, Storage },
): Promise<VertexRig> {
  const clock = virtualClock(START);
  const gcs = fakeGcs();
  const fake = fakeProvider({ clock, storage: gcs, ...options });
  const [server, files] = [await fake.listen(), await gcs.listen()];
  onTestFinished(async () => {
    await Promise.all([server.close(), files.close()]);
  });
  const retryOptions = { autoRetry: false };
  const objects = new clients.Storage({ apiEndpoint: files.url, projectId: "my-project", retryOptions });
  const storage = gcsStorage({ client: objects, bucket: "bucket", prefix: "folder" });
  const client = new clients.GoogleGenAI(vertexOptions(server.url));
  return { fake, gcs, clock, account: vertexAccount({ client, storage, ...own }) };
}

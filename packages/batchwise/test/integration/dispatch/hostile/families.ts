// The families of models at Bedrock and Vertex AI: accounts over the official clients at fakes over
// real sockets, and what requests and results of each look like.

import { Bedrock } from "@aws-sdk/client-bedrock";
import { S3 } from "@aws-sdk/client-s3";
import { GoogleGenAI } from "@google/genai";
import { Storage } from "@google-cloud/storage";
import type { Account, DispatchRequest } from "batchwise/dispatch";
import { bedrockAccount } from "batchwise/dispatch/bedrock";
import { gcsStorage, s3Storage } from "batchwise/dispatch/storage";
import type { FakeOperation, FakeStorage } from "batchwise/dispatch/testing";
import { fakeGcs, fakeS3 } from "batchwise/dispatch/testing";
import { vertexAccount } from "batchwise/dispatch/vertex";
import type { Clock } from "batchwise/testing";

type Json = Record<string, unknown>;

/** What the two providers have in common for a table of faults. */
interface Service {
  readonly name: "bedrock" | "vertex";
  readonly create: FakeOperation;
  readonly list: FakeOperation;
  readonly retrieve: FakeOperation;
  /** Of the object that a job's results are in. */
  readonly output: RegExp;
  /** A state of the provider's in the answer to a look at a job. */
  stateAs(state: "running" | "done" | "expired"): (body: string) => string;
  /**
   * The provider's counts of a job, in an answer: of requests that succeeded; null: none at all.
   */
  counting(succeeded: number | null): (body: string) => string;
  storage(clock: Clock): FakeStorage;
  /** The account, and how its clients are closed. */
  open(url: string, storageUrl: string): { readonly account: Account; close(): void };
}

export interface Family {
  readonly name: string;
  readonly service: Service;
  readonly model: string;
  readonly isEmbedding?: boolean;
  /** Whose request a line of results is about. */
  idOf(line: Json): unknown;
  /** The line of a request that failed for a reason that may pass. */
  failed(line: Json): Json;
  /** The same line for a request of another name; null: for one without a name. */
  named(line: Json, id: string | null): Json;
}

const BEDROCK_STATES = { running: "InProgress", done: "Completed", expired: "Expired" } as const;

const bedrock: Service = {
  name: "bedrock",
  create: "invocationJobs.create",
  list: "invocationJobs.list",
  retrieve: "invocationJobs.retrieve",
  output: /\.jsonl\.out$/,
  stateAs: (state) => edited((job) => ({ ...job, status: BEDROCK_STATES[state] })),
  counting: (succeeded) =>
    edited(({ totalRecordCount, processedRecordCount, successRecordCount, errorRecordCount, ...job }) =>
      succeeded === null
        ? job
        : {
            ...job,
            totalRecordCount,
            processedRecordCount: succeeded,
            successRecordCount: succeeded,
            errorRecordCount: 0,
          },
    ),
  storage: (clock) => fakeS3({ clock, pageSize: 2 }),
  open(url, storageUrl) {
    const common = {
      region: "us-east-1",
      credentials: { accessKeyId: "key", secretAccessKey: "secret" },
      maxAttempts: 1,
    };
    const client = new Bedrock({ ...common, endpoint: url });
    const s3 = new S3({ ...common, endpoint: storageUrl, forcePathStyle: true });
    const storage = s3Storage({ client: s3, bucket: "bucket", prefix: "folder" });
    const roleArn = "arn:aws:iam::123456789012:role/bedrock-batches";
    const account = bedrockAccount({ client, storage, roleArn, limits: { minRequests: 1 } });
    return {
      account,
      close() {
        client.destroy();
        s3.destroy();
      },
    };
  },
};

/**
 * The client asks for a token before each call; this one has it at once, where Google's would ask a
 * metadata server.
 */
const authClient = { getRequestHeaders: async () => new Headers({ authorization: "Bearer token" }) };

const vertex: Service = {
  name: "vertex",
  create: "vertex.create",
  list: "vertex.list",
  retrieve: "vertex.retrieve",
  output: /predictions\.jsonl$/,
  // Made days ago: a job has four days, after which it counts as stuck.
  stateAs: (state) =>
    edited((job) => ({
      ...job,
      state: `JOB_STATE_${state === "done" ? "SUCCEEDED" : state.toUpperCase()}`,
      ...(state === "running" ? { createTime: "2026-01-01T00:00:00Z" } : {}),
    })),
  counting: (succeeded) =>
    edited(({ completionStats: _, ...job }) =>
      succeeded === null
        ? job
        : { ...job, completionStats: { successfulCount: String(succeeded), failedCount: "0", incompleteCount: "0" } },
    ),
  storage: (clock) => fakeGcs({ clock, pageSize: 2 }),
  open(url, storageUrl) {
    const client = new GoogleGenAI({
      ...{ vertexai: true, project: "my-project", location: "us-central1" },
      httpOptions: { baseUrl: url },
      googleAuthOptions: { authClient: authClient as never },
    });
    const files = new Storage({ apiEndpoint: storageUrl, projectId: "p", retryOptions: { autoRetry: false } });
    const storage = gcsStorage({ client: files, bucket: "bucket", prefix: "folder" });
    return { account: vertexAccount({ client, storage }), close: () => {} };
  },
};

/** Edits one job, or each job of a list. */
function edited(edit: (job: Json) => Json): (body: string) => string {
  return (body) => {
    const answer = JSON.parse(body) as Json;
    for (const list of ["invocationJobSummaries", "batchPredictionJobs"]) {
      const jobs = answer[list];
      if (Array.isArray(jobs)) return JSON.stringify({ ...answer, [list]: jobs.map((job) => edit(job)) });
    }
    return JSON.stringify(edit(answer));
  };
}

const record = (name: string, model: string): Family => ({
  name,
  service: bedrock,
  model,
  idOf: ({ recordId }) => recordId,
  failed: ({ modelOutput: _, ...line }) => ({
    ...line,
    error: { errorCode: 503, errorMessage: "Try your request again." },
  }),
  named: ({ recordId: _, ...line }, id) => (id === null ? line : { ...line, recordId: id }),
});

const FAILED = 'Service Unavailable: {"error":{"code":503,"message":"Try again.","status":"UNAVAILABLE"}}';

const line = (name: string, model: string): Family => ({
  name,
  service: vertex,
  model,
  idOf: ({ custom_id: id }) => id,
  failed: (given) => ({ ...given, response: null, status: FAILED }),
  named: ({ custom_id: _, ...given }, id) => (id === null ? given : { ...given, custom_id: id }),
});

const labelsOf = ({ request }: Json): Json => ((request as Json).labels ?? {}) as Json;

const gemini: Family = {
  ...line("Gemini at Vertex AI", "gemini-2.5-flash"),
  idOf: (given) => Object.values(labelsOf(given))[0],
  failed: (given) => ({ ...given, response: {}, status: FAILED }),
  named(given, id) {
    const [label = ""] = Object.keys(labelsOf(given));
    const labels = id === null ? {} : { [label]: id.toLowerCase() };
    return { ...given, request: { ...(given.request as Json), labels } };
  },
};

export const FAMILIES: readonly Family[] = [
  record("Claude at Bedrock", "us.anthropic.claude-haiku-4-5-v1:0"),
  record("Nova at Bedrock", "us.amazon.nova-lite-v1:0"),
  record("Llama at Bedrock", "us.meta.llama4-scout-17b-v1:0"),
  { ...record("Titan at Bedrock", "amazon.titan-embed-text-v2:0"), isEmbedding: true },
  gemini,
  line("Claude at Vertex AI", "claude-haiku-4-5"),
  line("Llama at Vertex AI", "llama-3.3-70b-instruct-maas"),
];

export function requestsOf({ model, isEmbedding }: Family, count: number): DispatchRequest[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `r${n}`,
    body: isEmbedding
      ? { model, input: `Say ${n}.` }
      : { model, max_tokens: 9, messages: [{ role: "user", content: `Say ${n}.` }] },
  }));
}

// One process's part in the kill matrix: opens the store, enqueues, dispatches until nothing is
// left, and tells what the log holds. The process that dies does it in a child; the one that goes
// on may be the test's own.

import type { Account, AccountOptions } from "../../../../src/dispatch/contract/account.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { anthropicAccount } from "../../../../src/dispatch/providers/anthropic/index.ts";
import { bedrockAccount } from "../../../../src/dispatch/providers/bedrock/index.ts";
import { geminiAccount } from "../../../../src/dispatch/providers/gemini/index.ts";
import { localAccount } from "../../../../src/dispatch/providers/local/index.ts";
import { mistralAccount } from "../../../../src/dispatch/providers/mistral/index.ts";
import { openaiAccount } from "../../../../src/dispatch/providers/openai/index.ts";
import { vertexAccount } from "../../../../src/dispatch/providers/vertex/index.ts";
import { voyageAccount } from "../../../../src/dispatch/providers/voyage/index.ts";
import { xaiAccount } from "../../../../src/dispatch/providers/xai/index.ts";
import { gcsStorage, s3Storage } from "../../../../src/dispatch/storage/index.ts";
import { openStore, type Place } from "../stores/open-store.ts";

export type Service =
  | "openai"
  | "azure"
  | "groq"
  | "together"
  | "anthropic"
  | "gemini"
  | "local"
  | "mistral"
  | "xai"
  | "voyage"
  | (typeof RECORDS)[number]
  /** OpenAI, and Anthropic as the fallback account. All requests have deadlines. */
  | "fallback"
  | keyof typeof BEDROCK_MODELS
  | keyof typeof VERTEX_MODELS;

/** Services of OpenAI's shape that are a record each. */
export const RECORDS = ["doubleword", "dashscope", "deepinfra", "novita", "siliconflow"] as const;

/** A model of each family at Bedrock. */
const BEDROCK_MODELS = {
  "bedrock-claude": "us.anthropic.claude-haiku-4-5-20251001-v1:0",
  "bedrock-nova": "us.amazon.nova-lite-v1:0",
  "bedrock-llama": "us.meta.llama3-3-70b-instruct-v1:0",
  "bedrock-titan": "amazon.titan-embed-text-v2:0",
  "bedrock-gpt-oss": "openai.gpt-oss-120b-1:0",
} as const;

/** The same at Vertex AI. */
const VERTEX_MODELS = {
  "vertex-gemini": "publishers/google/models/gemini-2.5-flash",
  "vertex-claude": "publishers/anthropic/models/claude-haiku-4-5",
  "vertex-llama": "publishers/meta/models/llama-3.3-70b-instruct-maas",
} as const;

export interface KillWork {
  readonly place: Place;
  readonly service: Service;
  /** Where the fake listens. */
  readonly url: string;
  /** Where the fake of S3, or of Cloud Storage, listens. */
  readonly storageUrl: string;
  readonly requests: number;
  /** How long a lease lasts: what others wait for after a death. Calls may take a little less. */
  readonly leaseMs: number;
}

export interface KillReport {
  readonly outcomes: number;
  readonly ids: number;
  readonly succeeded: number;
  readonly batches: readonly string[];
}

const CALL_MARGIN_MS = 200;
/** Each look costs a database some statements, and up to ten processes look at the same time. */
const LOOK_MS = 250;
const SENT_AFTER_MS = 150;
/**
 * Longer than a request waits for its batch to fill, and within the time that OpenAI may take for a
 * batch.
 */
const DEADLINE_MS = 2 * 3_600_000;

function isAtBedrock(service: Service): service is keyof typeof BEDROCK_MODELS {
  return Object.hasOwn(BEDROCK_MODELS, service);
}

export function isAtVertex(service: Service): service is keyof typeof VERTEX_MODELS {
  return Object.hasOwn(VERTEX_MODELS, service);
}

type Times = Pick<AccountOptions, "requestTimeoutMs" | "reconcileGraceMs" | "pollMs">;

/** Its token is at hand; Google's own would be asked of a metadata server. */
const authClient = { getRequestHeaders: async () => new Headers({ authorization: "Bearer token" }) };

async function vertexOf(url: string, storageUrl: string, path: string, times: Times): Promise<Account> {
  const [{ GoogleGenAI }, { Storage }] = await Promise.all([import("@google/genai"), import("@google-cloud/storage")]);
  const client = new GoogleGenAI({
    ...{ vertexai: true, project: "project", location: "us-central1", httpOptions: { baseUrl: url } },
    googleAuthOptions: { authClient: authClient as never },
  });
  const files = new Storage({ apiEndpoint: storageUrl, projectId: "project" });
  const storage = gcsStorage({ client: files, bucket: "bucket" });
  return vertexAccount({ client, storage, modelPath: () => path, ...times });
}

/** Over the client, and below the path, that users of the service have. */
async function accountOf({ service, url, storageUrl, leaseMs }: KillWork): Promise<Account> {
  const times = { requestTimeoutMs: leaseMs - CALL_MARGIN_MS, reconcileGraceMs: 1_500, pollMs: 100 };
  if (service === "anthropic") {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    return anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: url }), ...times });
  }
  if (service === "gemini") {
    const { GoogleGenAI } = await import("@google/genai");
    const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: url } });
    return geminiAccount({ client, maxInlineBytes: 0, ...times });
  }
  if (service === "local") return localAccount({ baseURL: `${url}/v1`, concurrency: 8, ...times });
  if (service === "mistral") {
    const { Mistral } = await import("@mistralai/mistralai");
    return mistralAccount({ client: new Mistral({ apiKey: "key", serverURL: url }), ...times });
  }
  if (isAtBedrock(service)) {
    const [{ default: aws }, { default: awsFiles }] = await Promise.all([
      import("@aws-sdk/client-bedrock"),
      import("@aws-sdk/client-s3"),
    ]);
    const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
    const common = { region: "us-east-1", maxAttempts: 1, credentials };
    const s3 = new awsFiles.S3({ ...common, endpoint: storageUrl, forcePathStyle: true });
    const roleArn = "arn:aws:iam::123456789012:role/bedrock-batches";
    const client = new aws.Bedrock({ ...common, endpoint: url });
    const storage = s3Storage({ client: s3, bucket: "bucket" });
    return bedrockAccount({ client, storage, roleArn, limits: { minRequests: 1 }, ...times });
  }
  if (isAtVertex(service)) return vertexOf(url, storageUrl, VERTEX_MODELS[service], times);
  const { AzureOpenAI, OpenAI } = await import("openai");
  if (service === "azure") {
    const client = new AzureOpenAI({ apiKey: "key", apiVersion: "2025-03-01-preview", endpoint: url });
    return openaiAccount({ client, service, ...times });
  }
  const baseURL = service === "groq" ? `${url}/openai/v1` : `${url}/v1`;
  const client = new OpenAI({ apiKey: "key", baseURL });
  if (service === "xai") return xaiAccount({ client, ...times });
  if (service === "voyage") return voyageAccount({ client, ...times });
  return openaiAccount({ client, service: service === "fallback" ? "openai" : service, ...times });
}

async function accountsOf(work: KillWork, failpoint: (name: string) => void): Promise<Account[]> {
  const account = tellingWhenSent(await accountOf(work), failpoint);
  if (work.service !== "fallback") return [account];
  const second = await accountOf({ ...work, service: "anthropic" });
  const capabilities = { ...second.capabilities, fallback: true };
  return [account, tellingWhenSent(Object.defineProperty(second, "capabilities", { value: capabilities }), failpoint)];
}

/**
 * The provider answers creates late, so that this one is accepted but unanswered when the process
 * dies.
 */
function tellingWhenSent(account: Account, failpoint: (name: string) => void): Account {
  const create = account.create.bind(account);
  const value: Account["create"] = (input, call) => {
    setTimeout(() => failpoint("create-sent"), SENT_AFTER_MS);
    return create(input, call);
  };
  return Object.defineProperty(account, "create", { value });
}

/** Nothing waits, nothing is to be delivered, and the batches have been marked as done. */
async function isAtRest(store: Store): Promise<boolean> {
  const { batches, lanes, deliveriesWaiting } = await store.probe(1, Date.now());
  const open = Object.entries(batches).filter(([state, count]) => state !== "done" && count > 0);
  return open.length === 0 && lanes.length === 0 && deliveriesWaiting === 0;
}

async function report(store: Store): Promise<KillReport> {
  const rows = await store.outcomes({ after: 0, limit: 1_000_000 });
  const batches = await store.batches({ limit: 1_000 });
  return {
    outcomes: rows.length,
    ids: new Set(rows.map(({ id }) => id)).size,
    succeeded: rows.filter(({ status }) => status === "succeeded").length,
    batches: batches.map(({ state }) => state),
  };
}

function bodiesFor(service: Service): (content: string) => JsonObject {
  const model = isAtBedrock(service) ? BEDROCK_MODELS[service] : "m";
  if (service === "bedrock-titan" || service === "voyage") return (input) => ({ model, input });
  return (content) => ({ model, max_tokens: 9, messages: [{ role: "user", content }] });
}

/** Calls `failpoint` at each named point. */
export async function dispatchAll(work: KillWork, failpoint: (name: string) => void): Promise<KillReport> {
  const { store, end } = await openStore(work.place);
  const dispatcher = createDispatcher({
    store,
    accounts: await accountsOf(work, failpoint),
    leaseMs: work.leaseMs,
    thresholds: { maxRequests: work.requests, maxAgeMs: 5_000 },
    onOutcome: () => {},
    failpoint,
  });
  await dispatcher.start();
  const bodyOf = bodiesFor(work.service);
  const more = work.service === "fallback" ? { deadlineAt: Date.now() + DEADLINE_MS } : {};
  await dispatcher.enqueueMany(
    Array.from({ length: work.requests }, (_, n) => ({ id: `r${n}`, body: bodyOf(`Say ${n}.`), ...more })),
  );
  while (!(await isAtRest(store))) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  await dispatcher.stop();
  const seen = await report(store);
  await store.close();
  await end();
  return seen;
}

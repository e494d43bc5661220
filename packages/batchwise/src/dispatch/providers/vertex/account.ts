// An account at Vertex AI, over the user's own `@google/genai` client and a storage in Cloud Storage. A batch is a job
// that reads its lines from an object and writes its results to a folder. Requests and results are in OpenAI's shape on
// our side, or in the model's own. Each operation is one logical call with the SDK's retries off; the account keeps no
// state and decides nothing. A batch is found by its labels.

import { aFunction, check, finiteIntegerFrom, invalidOption, objectWith } from "../../../core/contract/validate.ts";
import type {
  Account,
  AccountOptions,
  BatchInput,
  BatchName,
  CallOptions,
  Capabilities,
  CleanupInput,
  CreateInput,
  Failure,
  LineRequest,
  ListPage,
  Operation,
  ProviderBatch,
  ResultLine,
} from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { ObjectStorage } from "../../contract/storage.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { AccountFields } from "../shapes/account-fields.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { cancelAndLook } from "../shapes/google-cancel.ts";
import { checkGoogleVersion } from "../shapes/google-client.ts";
import { displayNameOf } from "../shapes/google-jobs.ts";
import { readJsonLines } from "../shapes/read-lines.ts";
import { readResults } from "../shapes/read-results.ts";
import { checkMethods } from "../shapes/sdk-client.ts";
import { objectOf, readSdkError, text } from "../shapes/sdk-error.ts";
import { MOST_CLAUDE_BATCHES, vertexCapabilities } from "./capabilities.ts";
import { classify } from "./classify.ts";
import { type VertexClient, vertexCall } from "./client.ts";
import { familyOf, publishedPath, type VertexFamily } from "./family.ts";
import { filterOf, labelsOf, toProviderBatch } from "./job.ts";
import { checkRequest, encodeLine, type LineManner } from "./lines.ts";
import { toResultLine } from "./results.ts";

const INPUT = "input/";
const OUTPUT = "output/";
const LINES = /\.jsonl$/;
/** Where Vertex keeps the whole of a result; other files of a folder repeat parts of it, or tell of errors. */
const PREDICTIONS = /(?:^|\/)predictions[^/]*\.jsonl$/;
const JOB = /^(?:projects\/[^/]+\/locations\/[^/]+\/batchPredictionJobs\/[^/]+|\d+)$/;

/** Options of `vertexAccount`. */
export interface VertexAccountOptions extends AccountOptions {
  /** `new GoogleGenAI({ vertexai: true, project, location })` of `@google/genai` 2.15 or later. */
  readonly client: VertexClient;
  /** `gcsStorage(…)`, in a bucket that Vertex AI may read and write. */
  readonly storage: ObjectStorage;
  /**
   * What a model is called in jobs, as in `publishers/meta/models/llama-3.3-70b-instruct-maas`. Pure; it may throw. Default:
   * `meta/llama-…` by its publisher, and names of Gemini, Claude, Llama, Qwen, DeepSeek and gpt-oss by how they begin.
   */
  readonly modelPath?: (model: string) => string;
  /** How a model is asked. Default: by its publisher; Google's are `gemini`, Anthropic's `claude`, all others `openai`. */
  readonly family?: VertexFamily | ((model: string) => VertexFamily);
  /** For requests to Claude that name no limit of their own, because Claude demands one. Default 4_096. */
  readonly defaultMaxTokens?: number;
}

/**
 * An account for the dispatcher's `accounts`.
 *
 * @throws TypeError with `code: "INVALID_OPTION"` for a client of the Gemini API or of an earlier version, and for an option
 * that is unknown or wrong.
 * @example
 * ```ts
 * import { type GcsClient, gcsStorage } from "batchwise/dispatch/storage";
 * import { type VertexClient, vertexAccount } from "batchwise/dispatch/vertex";
 * declare const client: VertexClient; // new GoogleGenAI({ vertexai: true, project, location })
 * declare const files: GcsClient; // new Storage()
 * const storage = gcsStorage({ client: files, bucket: "my-batches" });
 * const account = vertexAccount({ client, storage, models: ["gemini-2.5-flash"] });
 * ```
 */
export function vertexAccount(options: VertexAccountOptions): Account {
  check("options", objectWith(), options);
  const { client, storage, family, modelPath = publishedPath, defaultMaxTokens = 4_096 } = options;
  check("client", objectWith(), client);
  if (client.vertexai !== true) throw notVertex();
  check("client.batches", objectWith(), client.batches);
  checkGoogleVersion(client);
  checkMethods("client.batches", client.batches, ["create", "get", "list", "cancel", "delete"]);
  check("storage", objectWith("put", "get", "list", "delete", "uriOf"), storage);
  if (!storage.uriOf("x").startsWith("gs://")) throw notGoogles(storage.uriOf("x"));
  check("defaultMaxTokens", finiteIntegerFrom(1), defaultMaxTokens);
  check("modelPath", aFunction, modelPath);
  checkFamily(family);
  const pathOf = modelPath;
  const familyOfModel = (model: string): VertexFamily => {
    const path = pathOf(model);
    return (typeof family === "function" ? family(model) : family) ?? familyOf(path);
  };
  const own = ["client", "storage", "modelPath", "family", "defaultMaxTokens"];
  const isOfClaude = family === "claude" || options.models?.some((model) => familyOfModel(model) === "claude");
  const settings = resolveAccountOptions(options, own, isOfClaude === true ? withFewJobs : vertexCapabilities);
  const models = { pathOf, familyOf: familyOfModel, manner: { defaultMaxTokens } };
  return new VertexAccount(client, storage, settings, models);
}

/** Of an account that serves Claude, whatever else it serves. */
const withFewJobs: Capabilities = {
  ...vertexCapabilities,
  limits: { ...vertexCapabilities.limits, maxEnqueuedBatches: MOST_CLAUDE_BATCHES },
};

function notVertex(): Error {
  const wanted = "Expected `client` to be one of Vertex AI, made with `vertexai: true`";
  return invalidOption(TypeError, `${wanted}, got one of the Gemini API, which \`geminiAccount\` takes`);
}

function notGoogles(uri: string): Error {
  return invalidOption(TypeError, `Expected \`storage\` to be one in Cloud Storage, got one at ${uri.slice(0, -1)}`);
}

function checkFamily(family: unknown): void {
  if (family === undefined || typeof family === "function") return;
  if (family === "gemini" || family === "claude" || family === "openai") return;
  const wanted = 'Expected `family` to be "gemini", "claude", "openai" or a function of the model';
  throw invalidOption(TypeError, `${wanted}, got ${JSON.stringify(family)}`);
}

interface Models {
  pathOf(model: string): string;
  familyOf(model: string): VertexFamily;
  readonly manner: LineManner;
}

class VertexAccount extends AccountFields implements Account {
  readonly cleanup?: NonNullable<Account["cleanup"]>;
  readonly #client: VertexClient;
  readonly #storage: ObjectStorage;
  readonly #models: Models;

  constructor(client: VertexClient, storage: ObjectStorage, settings: AccountSettings, models: Models) {
    super(settings);
    this.#client = client;
    this.#storage = storage;
    this.#models = models;
    if (settings.cleanup) this.cleanup = (batch, call) => this.#cleanUp(batch, call);
  }

  encodeLine(request: LineRequest): string {
    const { model } = JSON.parse(request.body) as JsonObject;
    return encodeLine(this.#models.familyOf(text(model) ?? ""), request, this.#models.manner);
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    checkRequest(this.#models.familyOf(text(body.model) ?? ""), endpoint, body, this.#models.manner);
  }

  async upload(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }> {
    const { uri } = await this.#storage.put(INPUT + input.fileName, bytesOf(input), call);
    return { fileId: uri };
  }

  async create(input: CreateInput, call: CallOptions): Promise<ProviderBatch> {
    if (!("fileId" in input.input)) throw new TypeError("Expected an uploaded object.");
    const { httpOptions, abortSignal } = vertexCall(call);
    const created = await this.#client.batches.create({
      model: this.#models.pathOf(input.model),
      src: { format: "jsonl", gcsUri: [input.input.fileId] },
      config: {
        displayName: displayNameOf(input),
        dest: { format: "jsonl", gcsUri: this.#storage.uriOf(outputOf(input)) },
        httpOptions: { ...httpOptions, extraBody: { labels: labelsOf(input) } },
        abortSignal,
      },
    });
    return toProviderBatch(created);
  }

  list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage> {
    return this.#page(Math.min(page.limit, this.capabilities.list.pageSize), page.cursor, null, call);
  }

  async #page(pageSize: number, cursor: string | null, filter: string | null, call: CallOptions): Promise<ListPage> {
    const config = {
      ...vertexCall(call),
      pageSize,
      ...(filter === null ? {} : { filter }),
      ...(cursor === null ? {} : { pageToken: cursor }),
    };
    const pager = objectOf(await this.#client.batches.list({ config }));
    const rows: readonly unknown[] = Array.isArray(pager.page) ? pager.page : [];
    // The pager puts the next page's token where it would ask for that page.
    return { batches: rows.map(toProviderBatch), next: text(objectOf(objectOf(pager.params).config).pageToken) };
  }

  async find(tag: BatchName, call: CallOptions): Promise<readonly ProviderBatch[]> {
    const found: ProviderBatch[] = [];
    let cursor: string | null = null;
    do {
      const page: ListPage = await this.#page(this.capabilities.list.pageSize, cursor, filterOf(tag), call);
      found.push(...page.batches);
      cursor = page.next;
    } while (cursor !== null);
    return found;
  }

  async retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null> {
    if (!JOB.test(id)) return null;
    try {
      return toProviderBatch(await this.#client.batches.get({ name: id, config: vertexCall(call) }));
    } catch (error) {
      if (readSdkError(error).status === 404) return null;
      throw error;
    }
  }

  async *results(batch: ProviderBatch, call: CallOptions, name: BatchName): AsyncGenerator<ResultLine> {
    const family = this.#models.familyOf(name.model);
    const open = (uri: string): AsyncGenerator<JsonObject> => readJsonLines(this.#storage.get(uri, call));
    const read = (line: JsonObject): ResultLine => toResultLine(family, line, batch, name);
    for (const folder of batch.resultRefs) yield* readResults(await this.#outputs(folder, call), open, read);
  }

  /** The files with results in a folder: the whole ones where there are any. */
  async #outputs(folder: string, call: CallOptions): Promise<string[]> {
    const found: string[] = [];
    for await (const { uri } of this.#storage.list(`${folder.replace(/\/$/, "")}/`, call)) found.push(uri);
    const whole = found.filter((uri) => PREDICTIONS.test(uri));
    const files = whole.length > 0 ? whole : found.filter((uri) => LINES.test(uri));
    if (files.length > 0) return files;
    throw new DispatchError("RESULTS_UNREADABLE", `There are no results below ${folder}.`);
  }

  cancel(id: string, call: CallOptions): Promise<ProviderBatch> {
    const cancel = () => this.#client.batches.cancel({ name: id, config: vertexCall(call) });
    return cancelAndLook(id, cancel, () => this.retrieve(id, call));
  }

  async *listFiles(call: CallOptions): AsyncGenerator<{ readonly fileId: string; readonly fileName: string }> {
    for await (const { name, uri } of this.#storage.list(INPUT, call)) {
      yield { fileId: uri, fileName: name.slice(INPUT.length) };
    }
  }

  deleteFile(fileId: string, call: CallOptions): Promise<void> {
    return this.#storage.delete(fileId, call);
  }

  /** The job goes last: while it is there, what is left can be found. */
  async #cleanUp(batch: CleanupInput, call: CallOptions): Promise<void> {
    const files: string[] = batch.fileId === null ? [] : [batch.fileId];
    for await (const { uri } of this.#storage.list(outputOf(batch), call)) files.push(uri);
    for (const uri of files) await this.#storage.delete(uri, call);
    try {
      await this.#client.batches.delete({ name: batch.providerBatchId, config: vertexCall(call) });
    } catch (error) {
      if (readSdkError(error).status !== 404) throw error;
    }
  }

  classify(error: unknown, operation: Operation): Failure {
    return classify(error, operation);
  }
}

/** The folder that is a batch's own: nothing else is written there. */
function outputOf({ key, attempt }: Pick<BatchName, "key" | "attempt">): string {
  return `${OUTPUT}${key}-${attempt}/`;
}

/** Lines as bytes, many at once. */
async function* bytesOf(input: BatchInput): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let held: string[] = [];
  let length = 0;
  for await (const line of input.lines()) {
    held.push(line);
    length += line.length;
    if (length < CHUNK_CHARS) continue;
    yield encoder.encode(held.join(""));
    held = [];
    length = 0;
  }
  yield encoder.encode(held.join(""));
}

const CHUNK_CHARS = 256 * 1024;

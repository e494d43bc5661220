// An account at Vertex AI, over the user's own `@google/genai` client and a Cloud Storage. A batch
// is a job that reads its lines from an object and writes its results to a folder. Requests and
// results are in OpenAI's format on our side, or in the model's own. Each operation is one logical
// call without SDK retries. The account keeps no state and decides nothing. A batch is found by its
// labels.

import type {
  Account,
  BatchInput,
  BatchName,
  CallOptions,
  CleanupInput,
  CreateInput,
  LineRequest,
  ListPage,
  ProviderBatch,
  ResultLine,
} from "../../contract/account.ts";
import type { JsonSchemas } from "../../contract/capabilities.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { ObjectStorage } from "../../contract/storage.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { AccountFields } from "../shapes/account-fields.ts";
import { displayNameOf, tokenOf } from "../shapes/batch-names.ts";
import { cancelAndLook } from "../shapes/google/google-cancel.ts";
import { requestJson, type Transport, transportOf } from "../shapes/google/google-client.ts";
import { chunksOf } from "../shapes/lines/line-chunks.ts";
import { pagesOf } from "../shapes/lines/list-rows.ts";
import { readJsonLines } from "../shapes/lines/read-lines.ts";
import { readResults } from "../shapes/lines/read-results.ts";
import { text } from "../shapes/sdk/sdk-error.ts";
import { unlessMissing } from "../shapes/sdk/unless-missing.ts";
import { classify } from "./classify.ts";
import { API_VERSION, type VertexClient, vertexCall } from "./client.ts";
import { checkHasBatches } from "./family.ts";
import { filterOf, labelsOf, toListPage, toProviderBatch } from "./job.ts";
import { checkRequest, encodeLine } from "./lines.ts";
import { resolveVertexOptions, type VertexAccountOptions, type VertexModels, type VertexSettings } from "./options.ts";
import { toResultLine } from "./results.ts";
import { TextNames } from "./texts.ts";

const INPUT = "input/";
const OUTPUT = "output/";
const LINES = /\.jsonl$/;
/** Files with complete results. Other files of a folder repeat parts of them or list errors. */
const PREDICTIONS = /(?:^|\/)predictions[^/]*\.jsonl$/;
const JOB = /^(?:projects\/[^/]+\/locations\/[^/]+\/batchPredictionJobs\/[^/]+|\d+)$/;

/**
 * An account for the dispatcher's `accounts`.
 *
 * @throws TypeError with `code: "INVALID_OPTION"` for a client of the Gemini API or of an earlier
 * version, and for an unknown or invalid option.
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
  return new VertexAccount(resolveVertexOptions(options));
}

class VertexAccount extends AccountFields implements Account {
  readonly #client: VertexClient;
  readonly #transport: Transport;
  readonly #storage: ObjectStorage;
  readonly #models: VertexModels;

  constructor({ client, storage, settings, models }: VertexSettings) {
    super(settings, classify);
    this.#client = client;
    this.#transport = transportOf(client);
    this.#storage = storage;
    this.#models = models;
  }

  encodeLine(request: LineRequest): string {
    const { model } = JSON.parse(request.body) as JsonObject;
    return encodeLine(this.#models.familyOf(text(model) ?? ""), request, this.#models.lines);
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    const model = text(body.model) ?? "";
    checkHasBatches(this.#models.pathOf(model));
    checkRequest(this.#models.familyOf(model), endpoint, body, this.#models.lines);
  }

  isNamedByPlace(model: string): boolean {
    return this.#models.familyOf(model) === "embedding";
  }

  /**
   * Only for Gemini: an organization has to allow schemas for Claude first, and their effect in
   * batches of open models is not documented.
   */
  jsonSchemasOf(model: string): JsonSchemas | null {
    return this.#models.familyOf(model) === "gemini" ? "any" : null;
  }

  async upload(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }> {
    const { uri } = await this.#storage.put(INPUT + input.fileName, chunksOf(input.lines()), call);
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
    const queryParams = {
      pageSize: String(pageSize),
      ...(filter === null ? {} : { filter }),
      ...(cursor === null ? {} : { pageToken: cursor }),
    };
    const request = { path: "batchPredictionJobs", httpMethod: "GET", queryParams } as const;
    return toListPage(await requestJson(this.#transport, API_VERSION, request, call));
  }

  async find(tag: BatchName, call: CallOptions): Promise<readonly ProviderBatch[]> {
    const found: ProviderBatch[] = [];
    const { pageSize } = this.capabilities.list;
    const read = (cursor: string | null): Promise<ListPage> => this.#page(pageSize, cursor, filterOf(tag), call);
    for await (const { batches } of pagesOf(read, ({ next }) => next)) found.push(...batches);
    return found;
  }

  async retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null> {
    if (!JOB.test(id)) return null;
    return unlessMissing(async () =>
      toProviderBatch(await this.#client.batches.get({ name: id, config: vertexCall(call) })),
    );
  }

  async *results(batch: ProviderBatch, call: CallOptions, name: BatchName): AsyncGenerator<ResultLine> {
    const family = this.#models.familyOf(name.model);
    const open = (uri: string): AsyncGenerator<JsonObject> => readJsonLines(this.#storage.get(uri, call));
    const input = batch.inputFileId ?? this.#storage.uriOf(`${INPUT}${tokenOf(name)}.jsonl`);
    const names = family === "embedding" ? await TextNames.read(open(input), name.key) : null;
    const read = (line: JsonObject): ResultLine => toResultLine(family, line, batch, name, names);
    for (const folder of batch.resultRefs) yield* readResults(await this.#outputs(folder, call), open, read);
  }

  /** The result files in a folder, complete ones if there are any. */
  async #outputs(folder: string, call: CallOptions): Promise<string[]> {
    const names = new Set<string>();
    for await (const { uri } of this.#storage.list(`${folder.replace(/\/$/, "")}/`, call)) names.add(uri);
    const found = [...names];
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

  /** Deletes the job last: while it exists, its remaining files can be found. */
  protected override async deleteAll(batch: CleanupInput, call: CallOptions): Promise<void> {
    const files: string[] = batch.fileId === null ? [] : [batch.fileId];
    for await (const { uri } of this.#storage.list(outputOf(batch), call)) files.push(uri);
    for (const uri of files) await this.#storage.delete(uri, call);
    await unlessMissing(
      async () => await this.#client.batches.delete({ name: batch.providerBatchId, config: vertexCall(call) }),
    );
  }
}

/** The output folder of one attempt, which nothing else uses. */
function outputOf(name: Pick<BatchName, "key" | "attempt">): string {
  return `${OUTPUT}${tokenOf(name)}/`;
}

// An account at OpenAI or a compatible service, over the user's own `openai` client. Each operation
// is one call without SDK retries; files are streamed both ways. The account keeps no state and
// decides nothing.

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
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { canonicalJson } from "../../format/canonical.ts";
import { openaiLine, openaiLineBytes, utf8Length } from "../../format/encode.ts";
import { AccountFields } from "../shapes/account-fields.ts";
import { tagMetadata } from "../shapes/batch-names.ts";
import { cancelBatch } from "../shapes/cancel-batch.ts";
import { filesIn } from "../shapes/files.ts";
import { pagesOf, rowsOf } from "../shapes/lines/list-rows.ts";
import { readJsonLines } from "../shapes/lines/read-lines.ts";
import { readResults } from "../shapes/lines/read-results.ts";
import { toResultLine } from "../shapes/openai/openai-result.ts";
import { isMissing } from "../shapes/sdk/classify-status.ts";
import { downloadSettings, followed, followerOf } from "../shapes/sdk/redirects.ts";
import { callSettings } from "../shapes/sdk/sdk-call.ts";
import { jsonObject, objectOf, readSdkError } from "../shapes/sdk/sdk-error.ts";
import { unlessMissing } from "../shapes/sdk/unless-missing.ts";
import { checkBody } from "./check-body.ts";
import { classify } from "./classify.ts";
import type { BatchCreateBody, OpenAiClient } from "./client.ts";
import { nextOf, toProviderBatch } from "./convert.ts";
import { type OpenAiAccountOptions, type OpenAiSettings, resolveOpenAiOptions } from "./options.ts";

const FILES_A_PAGE = 1_000;
/** States of a file that will become usable. For any other state, the create decides. */
const PENDING: ReadonlySet<string> = new Set(["uploaded", "pending", "queued", "running", "processing"]);

/**
 * An account for the dispatcher's `accounts`.
 *
 * @example
 * ```ts
 * import { type OpenAiClient, openaiAccount } from "batchwise/dispatch/openai";
 * declare const client: OpenAiClient; // new OpenAI(), new AzureOpenAI()
 * const account = openaiAccount({ client, limits: { maxEnqueuedTokens: 2_000_000 } });
 * ```
 */
export function openaiAccount(options: OpenAiAccountOptions): Account {
  return new OpenAiAccount(resolveOpenAiOptions(options));
}

class OpenAiAccount extends AccountFields implements Account {
  readonly isFileReady?: NonNullable<Account["isFileReady"]>;
  readonly groupOf?: NonNullable<Account["groupOf"]>;
  readonly #client: OpenAiClient;
  readonly #openai: OpenAiSettings;

  constructor(openai: OpenAiSettings) {
    super(openai.settings, classify);
    this.#client = openai.client;
    this.#openai = openai;
    const { lineFields } = openai.service;
    if (lineFields !== undefined) {
      this.groupOf = (endpoint, body) => groupOfParams(body, lineFields[endpoint] ?? Object.keys(body));
    }
    if (openai.service.processesFiles === true) this.isFileReady = (fileId, call) => this.#isProcessed(fileId, call);
  }

  encodeLine(request: LineRequest): string {
    const kept = this.#keptOf(request.endpoint);
    if (kept !== undefined) return dataLine(request, kept);
    return openaiLine(request, this.#urlOf(request.endpoint), this.#methodOf(request.endpoint));
  }

  lineBytes(request: LineRequest, bodyBytes: number): number {
    if (this.#keptOf(request.endpoint) !== undefined) return utf8Length(this.encodeLine(request));
    return openaiLineBytes(request, bodyBytes, this.#urlOf(request.endpoint), this.#methodOf(request.endpoint));
  }

  /** The fields of a body that stay in its line; undefined: all. */
  #keptOf(endpoint: Endpoint): readonly string[] | undefined {
    return this.#openai.service.lineFields?.[endpoint];
  }

  #urlOf(endpoint: Endpoint): string {
    return this.#openai.service.urls?.[endpoint] ?? endpoint;
  }

  #methodOf(endpoint: Endpoint): string | undefined {
    return this.#openai.service.methods?.[endpoint];
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    const { maxInputs, audioField } = this.#openai.service;
    const rules = { endpoints: this.capabilities.endpoints, maxInputs };
    checkBody(audioField === undefined ? rules : { ...rules, audioField }, endpoint, body);
  }

  upload(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }> {
    return this.#openai.upload(input, call);
  }

  /** False also for a file that is not visible yet. */
  async #isProcessed(fileId: string, call: CallOptions): Promise<boolean> {
    try {
      const { status } = objectOf(await this.#client.files.retrieve?.(fileId, callSettings(call)));
      return !PENDING.has(String(status).toLowerCase());
    } catch (error) {
      if (!isMissing(error)) throw error;
      return false;
    }
  }

  async create(input: CreateInput, call: CallOptions): Promise<ProviderBatch> {
    if (!("fileId" in input.input)) throw new TypeError("Expected an uploaded file.");
    const { key, attempt, endpoint, model } = input;
    const extras = this.#openai.createExtras({ key, attempt, endpoint, model });
    const kept = this.#keptOf(endpoint);
    const shared = kept === undefined ? {} : { request_params: sharedParams(await input.firstBody(), kept) };
    const tag = this.capabilities.tag === "metadata" ? tagMetadata(input) : {};
    const metadata = { ...(jsonObject(extras.metadata) as Record<string, string> | null), ...tag };
    const body: BatchCreateBody = {
      ...extras,
      ...shared,
      input_file_id: input.input.fileId,
      endpoint: this.#urlOf(endpoint) as BatchCreateBody["endpoint"],
      completion_window: this.#openai.completionWindow as "24h",
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    };
    return toProviderBatch(await this.#client.batches.create(body, callSettings(call)));
  }

  async list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage> {
    const { paged, pageSize } = this.capabilities.list;
    const after = page.cursor === null ? {} : { after: page.cursor };
    const query = paged ? { limit: Math.min(page.limit, pageSize), ...after } : {};
    const answer = await this.#client.batches.list(query, callSettings(call));
    const rows = rowsOf(answer);
    return { batches: rows.map(toProviderBatch), next: paged ? nextOf(answer, rows) : null };
  }

  async retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null> {
    return unlessMissing(async () => toProviderBatch(await this.#client.batches.retrieve(id, callSettings(call))));
  }

  results(batch: ProviderBatch, call: CallOptions, { endpoint }: BatchName): AsyncGenerator<ResultLine> {
    const open = (ref: string): AsyncGenerator<JsonObject> => this.#lines(ref, call);
    return readResults(batch.resultRefs, open, (line) => toResultLine(line, endpoint));
  }

  async *#lines(ref: string, call: CallOptions): AsyncGenerator<JsonObject> {
    const started = this.#client.files.content(ref, downloadSettings(call));
    const { body } = await followed(started, followerOf(this.#openai.own, call), call);
    yield* readJsonLines(body);
  }

  async cancel(id: string, call: CallOptions): Promise<ProviderBatch> {
    return cancelBatch(id, {
      cancel: async () => toProviderBatch(await this.#client.batches.cancel(id, callSettings(call))),
      isRefusal: (error) => readSdkError(error).status === 409,
      retrieve: () => this.retrieve(id, call),
    });
  }

  async *listFiles(call: CallOptions): AsyncGenerator<{ readonly fileId: string; readonly fileName: string }> {
    const query = { purpose: this.#openai.service.filePurpose, limit: FILES_A_PAGE };
    const read = (after: string | null): PromiseLike<unknown> =>
      this.#client.files.list(after === null ? query : { ...query, after }, callSettings(call));
    for await (const page of pagesOf(read, (page) => nextOf(page, rowsOf(page)))) yield* filesIn(rowsOf(page));
  }

  async deleteFile(fileId: string, call: CallOptions): Promise<void> {
    await unlessMissing(async () => this.#client.files.delete(fileId, callSettings(call)));
  }

  /** Deletes the files. The batch stays listed: no call deletes one. */
  protected override async deleteAll({ providerBatchId, fileId }: CleanupInput, call: CallOptions): Promise<void> {
    const batch = await this.retrieve(providerBatchId, call);
    const files = new Set([...(batch?.resultRefs ?? []), batch?.inputFileId ?? fileId]);
    for (const id of files) if (id !== null) await this.deleteFile(id, call);
  }
}

/**
 * The line of a request at a service that takes the model and its parameters once for a whole
 * batch: only these fields of the body stay in it.
 */
function dataLine({ customId, body }: LineRequest, kept: readonly string[]): string {
  return `${JSON.stringify({ custom_id: customId, body: part(body, (name) => kept.includes(name)) })}\n`;
}

/** What the create says once for all requests: everything else in the body. */
function sharedParams(body: string, kept: readonly string[]): JsonObject {
  return part(body, (name) => !kept.includes(name));
}

/**
 * A text of the parameters besides the model, which is the lane's. Requests share a batch only if
 * it is the same; the order of keys does not count. Null if there are none.
 */
function groupOfParams(body: JsonObject, kept: readonly string[]): string | null {
  const given = Object.entries(body).filter(([name]) => name !== "model" && !kept.includes(name));
  return given.length === 0 ? null : canonicalJson(Object.fromEntries(given));
}

function part(body: string, isIn: (name: string) => boolean): JsonObject {
  const whole = JSON.parse(body) as JsonObject;
  return Object.fromEntries(Object.entries(whole).filter(([name]) => isIn(name)));
}

// An account at xAI, over OpenAI's official client with xAI's `baseURL`. Lines and bodies have
// OpenAI's format; files, batches and results have calls of their own. Each operation is one
// logical call without SDK retries. The account keeps no state and decides nothing. A batch is
// found by its name.

import { check, objectWith } from "../../../core/contract/validate.ts";
import type {
  Account,
  AccountOptions,
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
import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { isSyntaxError } from "../../format/client-error.ts";
import { openaiLine, openaiLineBytes } from "../../format/encode.ts";
import { checkBody } from "../openai/check-body.ts";
import { classify } from "../openai/classify.ts";
import { AccountFields } from "../shapes/account-fields.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { displayNameOf } from "../shapes/batch-names.ts";
import { cancelBatch } from "../shapes/cancel-batch.ts";
import { fileIdOf, filesIn } from "../shapes/files.ts";
import { blobOf } from "../shapes/lines/lines-blob.ts";
import { pagesOf } from "../shapes/lines/list-rows.ts";
import { readResults } from "../shapes/lines/read-results.ts";
import { downloadSettings, followed, followerOf } from "../shapes/sdk/redirects.ts";
import { callSettings } from "../shapes/sdk/sdk-call.ts";
import {
  checkIsClient,
  checkMethods,
  checkNotAtOpenAi,
  checkSdkVersion,
  type SdkNeed,
} from "../shapes/sdk/sdk-client.ts";
import { objectOf, readSdkError } from "../shapes/sdk/sdk-error.ts";
import { unlessMissing } from "../shapes/sdk/unless-missing.ts";
import { xaiCapabilities } from "./capabilities.ts";
import type { XaiClient, XaiGet } from "./client.ts";
import { nextOf, rowsIn, toListPage, toProviderBatch, toResultLine } from "./convert.ts";

const SDK: SdkNeed = { package: "openai", least: 5, why: "whose calls this account was not tested with" };
const FILES_A_PAGE = 100;
/** A page is one JSON text, so 1,000 long answers with logprobs may exceed the call's timeout. */
const RESULTS_A_PAGE = 100;
/** Statuses of a refused cancel, of which none is documented. */
const REFUSALS: readonly (number | null)[] = [400, 404, 409, 412, 422];

/** Options of `xaiAccount`, and the common account options. */
export interface XaiAccountOptions extends AccountOptions {
  /** `new OpenAI({ apiKey, baseURL: "https://api.x.ai/v1" })` of `openai` 5 or later. */
  readonly client: XaiClient;
}

/**
 * An account for the dispatcher's `accounts`: chats of Grok, in OpenAI's format.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 * @example
 * ```ts
 * import { type XaiClient, xaiAccount } from "batchwise/dispatch/xai";
 * // new OpenAI({ apiKey, baseURL: "https://api.x.ai/v1" })
 * declare const client: XaiClient;
 * const account = xaiAccount({ client, models: ["grok-4.3"] });
 * ```
 */
export function xaiAccount(options: XaiAccountOptions): Account {
  check("options", objectWith(), options);
  const { client } = options;
  checkIsClient(client);
  checkSdkVersion(client, SDK);
  checkMethods("client", client, ["get", "post", "delete"]);
  checkNotAtOpenAi(client, "xAI", "https://api.x.ai/v1");
  return new XaiAccount(client, resolveAccountOptions(options, ["client"], xaiCapabilities));
}

class XaiAccount extends AccountFields implements Account {
  readonly #client: XaiClient;

  constructor(client: XaiClient, settings: AccountSettings) {
    super(settings, classify);
    this.#client = client;
  }

  encodeLine(request: LineRequest): string {
    return openaiLine(request);
  }

  lineBytes(request: LineRequest, bodyBytes: number): number {
    return openaiLineBytes(request, bodyBytes);
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    checkBody({ endpoints: this.capabilities.endpoints, maxInputs: Number.POSITIVE_INFINITY }, endpoint, body);
  }

  /** The file is the form's only field: xAI stores no purpose. */
  async upload(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }> {
    const body = new FormData();
    body.append("file", new File([await blobOf(input)], input.fileName, { type: "application/jsonl" }));
    return { fileId: fileIdOf(await this.#client.post("/files", { body, ...callSettings(call) })) };
  }

  async create(input: CreateInput, call: CallOptions): Promise<ProviderBatch> {
    if (!("fileId" in input.input)) throw new TypeError("Expected an uploaded file.");
    const body = { name: displayNameOf(input), input_file_id: input.input.fileId };
    return toProviderBatch(await this.#client.post("/batches", { body, ...callSettings(call) }));
  }

  async list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage> {
    const limit = Math.min(page.limit, this.capabilities.list.pageSize);
    return toListPage(await this.#page("/batches", limit, page.cursor, call));
  }

  async retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null> {
    return unlessMissing(async () => toProviderBatch(await this.#client.get(pathOf(id), callSettings(call))));
  }

  results(batch: ProviderBatch, call: CallOptions, { endpoint }: BatchName): AsyncGenerator<ResultLine> {
    const open = (id: string): AsyncGenerator<unknown> => this.#resultsOf(id, call);
    return readResults(batch.resultRefs, open, (result) => toResultLine(result, batch, endpoint));
  }

  async *#resultsOf(id: string, call: CallOptions): AsyncGenerator<unknown> {
    try {
      yield* this.#rows(`${pathOf(id)}/results`, "results", RESULTS_A_PAGE, call);
    } catch (error) {
      if (!isSyntaxError(error)) throw error;
      throw new DispatchError("RESULTS_UNREADABLE", "A page of results is not JSON.", error);
    }
  }

  async cancel(id: string, call: CallOptions): Promise<ProviderBatch> {
    return cancelBatch(id, {
      cancel: async () => toProviderBatch(await this.#client.post(`${pathOf(id)}:cancel`, callSettings(call))),
      isRefusal: (error) => REFUSALS.includes(readSdkError(error).status),
      retrieve: () => this.retrieve(id, call),
    });
  }

  async *listFiles(call: CallOptions): AsyncGenerator<{ readonly fileId: string; readonly fileName: string }> {
    for await (const file of this.#rows("/files", "data", FILES_A_PAGE, call)) yield* filesIn([file]);
  }

  async deleteFile(fileId: string, call: CallOptions): Promise<void> {
    await unlessMissing(
      async () => await this.#client.delete(`/files/${encodeURIComponent(fileId)}`, callSettings(call)),
    );
  }

  /** Deletes the input. The results stay with the batch, which no call deletes. */
  protected override async deleteAll({ providerBatchId, fileId }: CleanupInput, call: CallOptions): Promise<void> {
    const input = fileId ?? (await this.retrieve(providerBatchId, call))?.inputFileId ?? null;
    if (input !== null) await this.deleteFile(input, call);
  }

  /** All rows, page by page. */
  async *#rows(path: string, field: "data" | "results", limit: number, call: CallOptions): AsyncGenerator<unknown> {
    const pages = pagesOf((token) => this.#page(path, limit, token, call), nextOf);
    for await (const page of pages) yield* rowsIn(page, field);
  }

  async #page(path: string, limit: number, token: string | null, call: CallOptions): Promise<unknown> {
    const query: XaiGet["query"] = token === null ? { limit } : { limit, pagination_token: token };
    const client = this.#client;
    const page = await followed(client.get(path, { query, ...downloadSettings(call) }), followerOf(client, call), call);
    // By its shape: a client's own `fetch` may return another class.
    const { json } = objectOf(page);
    return typeof json === "function" ? json.call(page) : page;
  }
}

function pathOf(id: string): string {
  return `/batches/${encodeURIComponent(id)}`;
}

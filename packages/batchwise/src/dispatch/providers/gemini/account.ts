// An account at the Gemini API, over the user's own `@google/genai` client. Requests and results
// are in OpenAI's format on our side, or in Gemini's own. Small batches travel in their create,
// larger ones in a file. Each operation is one logical call without SDK retries. The account keeps
// no state and decides nothing. A batch is found by its display name.

import { check, invalidOption, objectWith, type Rule } from "../../../core/contract/validate.ts";
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
import { AccountFields } from "../shapes/account-fields.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { displayNameOf } from "../shapes/batch-names.ts";
import { filesIn } from "../shapes/files.ts";
import { toEmbedContentRequest } from "../shapes/gemini/embedding.ts";
import { invalid, unsupported } from "../shapes/gemini/refusal.ts";
import { toGenerateContentRequest } from "../shapes/gemini/request.ts";
import { cancelAndLook } from "../shapes/google/google-cancel.ts";
import { blobOf } from "../shapes/lines/lines-blob.ts";
import { pagesOf } from "../shapes/lines/list-rows.ts";
import { readJsonLines } from "../shapes/lines/read-lines.ts";
import { readResults } from "../shapes/lines/read-results.ts";
import { isMissing } from "../shapes/sdk/classify-status.ts";
import { checkIsClient, checkMethods } from "../shapes/sdk/sdk-client.ts";
import { objectOf, readSdkError, text } from "../shapes/sdk/sdk-error.ts";
import { unlessMissing } from "../shapes/sdk/unless-missing.ts";
import { type BatchExtras, extrasOf } from "./batch-extras.ts";
import { DEFAULT_INLINE_BYTES, EMBED, geminiCapabilities, MOST_INLINE_BYTES } from "./capabilities.ts";
import { classify } from "./classify.ts";
import { type GeminiClient, GeminiWire } from "./client.ts";
import { inlineResults, toListPage, toProviderBatch, toResultLine } from "./convert.ts";

const FILES_A_PAGE = 100;
const EMBEDDINGS: readonly Endpoint[] = ["/v1/embeddings", EMBED];
const INLINE_BYTES: Rule = {
  expected: `an integer from 0 to ${MOST_INLINE_BYTES}`,
  type: "number",
  test: (value: number) => Number.isInteger(value) && value >= 0 && value <= MOST_INLINE_BYTES,
};
/** A valid model name. It is part of the create's address. */
const MODEL = /^(?:(?:models|tunedModels)\/)?[\w.-]+$/;

/** Options of {@link geminiAccount}. */
export interface GeminiAccountOptions extends AccountOptions, BatchExtras {
  /** `new GoogleGenAI({ apiKey })` of `@google/genai` 2.15 or later. */
  readonly client: GeminiClient;
  /**
   * Maximum bytes of a batch that travels in its create. Gemini accepts 20 MB, but returns inline
   * requests and results with every look at the batch. 0 to 16_000_000. Default 200_000. Raise it
   * at any time; lower it while no batch is being sent.
   */
  readonly maxInlineBytes?: number;
}

/**
 * An account for the dispatcher's `accounts`.
 *
 * @throws TypeError with `code: "INVALID_OPTION"` for a client of Vertex AI or of an earlier
 * version, and for an unknown or invalid option.
 * @example
 * ```ts
 * import { type GeminiClient, geminiAccount } from "batchwise/dispatch/gemini";
 * declare const client: GeminiClient; // new GoogleGenAI({ apiKey })
 * const account = geminiAccount({ client, models: ["gemini-2.5-flash"], limits: { maxEnqueuedTokens: 3_000_000 } });
 * ```
 */
export function geminiAccount(options: GeminiAccountOptions): Account {
  check("options", objectWith(), options);
  const { client, maxInlineBytes = DEFAULT_INLINE_BYTES } = options;
  checkIsClient(client);
  if (client.vertexai === true) throw invalidVertex();
  check("client.files", objectWith(), client.files);
  checkMethods("client.files", client.files, ["upload"]);
  check("maxInlineBytes", INLINE_BYTES, maxInlineBytes);
  const capabilities = { ...geminiCapabilities, maxInlineBytes };
  const own = ["client", "maxInlineBytes", "webhookConfig", "priority"];
  const settings = resolveAccountOptions(options, own, capabilities);
  return new GeminiAccount(new GeminiWire(client), settings, extrasOf(options));
}

function invalidVertex(): Error {
  const wanted = "Expected `client` to be one of the Gemini API";
  return invalidOption(TypeError, `${wanted}, got one of Vertex AI, which \`vertexAccount\` takes`);
}

class GeminiAccount extends AccountFields implements Account {
  readonly #wire: GeminiWire;
  readonly #extras: JsonObject;

  constructor(wire: GeminiWire, settings: AccountSettings, extras: JsonObject) {
    super(settings, classify);
    this.#wire = wire;
    this.#extras = extras;
  }

  encodeLine({ customId, endpoint, body }: LineRequest): string {
    return `${JSON.stringify({ key: customId, request: toRequest(endpoint, JSON.parse(body)) })}\n`;
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    if (!this.capabilities.endpoints.includes(endpoint)) throw unsupported(`the endpoint "${endpoint}"`);
    if (!MODEL.test(text(body.model) ?? ""))
      throw invalid(`\`model\` must be the name of a model, not ${shown(body.model)}`);
    toRequest(endpoint, body);
  }

  async upload(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }> {
    return { fileId: await this.#wire.upload(await blobOf(input), input.fileName, call) };
  }

  async isFileReady(fileId: string, call: CallOptions): Promise<boolean> {
    return objectOf(await this.#wire.get(fileId, {}, call)).state !== "PROCESSING";
  }

  async create(input: CreateInput, call: CallOptions): Promise<ProviderBatch> {
    const { endpoint, model } = input;
    const inputConfig =
      "fileId" in input.input
        ? { fileName: input.input.fileId }
        : { requests: { requests: await itemsOf(input.input) } };
    const method = EMBEDDINGS.includes(endpoint) ? "asyncBatchEmbedContent" : "batchGenerateContent";
    const path = `${model.includes("/") ? "" : "models/"}${model}:${method}`;
    return toProviderBatch(
      await this.#wire.post(path, { batch: { displayName: displayNameOf(input), inputConfig, ...this.#extras } }, call),
    );
  }

  async list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage> {
    const pageSize = String(Math.min(page.limit, this.capabilities.list.pageSize));
    const query = page.cursor === null ? { pageSize } : { pageSize, pageToken: page.cursor };
    return toListPage(await this.#wire.get("batches", query, call));
  }

  async retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null> {
    return unlessMissing(async () => toProviderBatch(await this.#wire.get(pathOf(id), {}, call)));
  }

  results(batch: ProviderBatch, call: CallOptions, name: BatchName): AsyncGenerator<ResultLine> {
    const open = (ref: string): AsyncGenerator<unknown> => this.#resultsAt(ref, call);
    return readResults(batch.resultRefs, open, (result) => toResultLine(result, batch, name));
  }

  async *#resultsAt(ref: string, call: CallOptions): AsyncGenerator<unknown> {
    if (ref.startsWith("files/")) yield* readJsonLines(await this.#wire.download(ref, call));
    else yield* await this.#inline(ref, call);
  }

  async #inline(id: string, call: CallOptions): Promise<readonly unknown[]> {
    try {
      return inlineResults(await this.#wire.get(pathOf(id), {}, call));
    } catch (error) {
      if (!isSyntaxError(error)) throw error;
      throw new DispatchError("RESULTS_UNREADABLE", "The batch with its results is not JSON.", error);
    }
  }

  cancel(id: string, call: CallOptions): Promise<ProviderBatch> {
    const cancel = () => this.#wire.post(`${pathOf(id)}:cancel`, {}, call);
    return cancelAndLook(id, cancel, () => this.retrieve(id, call));
  }

  async *listFiles(call: CallOptions): AsyncGenerator<{ readonly fileId: string; readonly fileName: string }> {
    const pageSize = String(FILES_A_PAGE);
    const read = (token: string | null): Promise<unknown> =>
      this.#wire.get("files", token === null ? { pageSize } : { pageSize, pageToken: token }, call);
    for await (const page of pagesOf(read, (page) => text(objectOf(page).nextPageToken))) {
      yield* filesIn(objectOf(page).files, "name", "displayName");
    }
  }

  deleteFile(fileId: string, call: CallOptions): Promise<void> {
    return this.#delete(fileId, call);
  }

  /** Deletes the results first: without the batch, nothing names their file. */
  protected override async deleteAll({ providerBatchId, fileId }: CleanupInput, call: CallOptions): Promise<void> {
    const batch = await this.retrieve(providerBatchId, call);
    const files = (batch?.resultRefs ?? []).filter((ref) => ref.startsWith("files/"));
    for (const name of fileId === null ? files : [...files, fileId]) await this.#delete(name, call);
    await this.#delete(pathOf(providerBatchId), call);
  }

  /** Deletes a file. Gemini answers for a missing one as for a forbidden one. */
  async #delete(name: string, call: CallOptions): Promise<void> {
    try {
      await this.#wire.delete(name, call);
    } catch (error) {
      const isHidden = readSdkError(error).status === 403 && name.startsWith("files/");
      if (!isHidden && !isMissing(error)) throw error;
    }
  }
}

/**
 * The request to send. Gemini's own bodies are kept, except the model, which is in the create's
 * address.
 */
function toRequest(endpoint: Endpoint, body: JsonObject): JsonObject {
  if (endpoint === "/v1/chat/completions") return toGenerateContentRequest(body);
  if (endpoint === "/v1/embeddings") return toEmbedContentRequest(body);
  const { model: _model, ...request } = body;
  return request;
}

/** The requests of a create, each with its key in the metadata, where answers repeat it. */
async function itemsOf(input: BatchInput): Promise<object[]> {
  const items: object[] = [];
  for await (const line of input.lines()) {
    const { key, request } = JSON.parse(line) as { readonly key: string; readonly request: JsonObject };
    items.push({ request, metadata: { key } });
  }
  return items;
}

function pathOf(id: string): string {
  return id.startsWith("batches/") ? id : `batches/${encodeURIComponent(id)}`;
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}

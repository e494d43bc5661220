// An account at OpenAI or at a service of its shape, over the user's own `openai` client. Each operation is one call
// with the SDK's retries off; files stream up and down. It keeps no state and decides nothing.

import { check, invalidOption, objectWith, oneOf } from "../../../core/contract/validate.ts";
import type {
  Account,
  AccountOptions,
  BatchInput,
  CallOptions,
  CleanupInput,
  CreateInput,
  Failure,
  LineRequest,
  ListPage,
  Operation,
  ProviderBatch,
  ResultLine,
} from "../../contract/account.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { openaiLine, openaiLineBytes } from "../../format/encode.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { readJsonLines } from "../shapes/read-lines.ts";
import { callSettings } from "../shapes/sdk-call.ts";
import { checkMethods, checkSdkVersion, type SdkNeed } from "../shapes/sdk-client.ts";
import { objectOf, readSdkError, text } from "../shapes/sdk-error.ts";
import { type OpenAiService, type OpenAiServiceName, openaiServices } from "./capabilities.ts";
import { classify } from "./classify.ts";
import type { BatchCreateBody, OpenAiClient, UploadSource } from "./client.ts";
import { checkBody, nextOf, rowsOf, TAG_ATTEMPT, TAG_KEY, toProviderBatch, toResultLine } from "./convert.ts";

const CHUNK_CHARACTERS = 65_536;
const FILES_A_PAGE = 1_000;
const SDK: SdkNeed = { package: "openai", least: 5, why: "which takes no file that streams and has no files.delete" };

/** Options of `openaiAccount`. */
export interface OpenAiAccountOptions extends AccountOptions {
  /** `new OpenAI()` or `new AzureOpenAI()` of `openai` 5 or later, or one with the `baseURL` of another service. */
  readonly client: OpenAiClient;
  /** Which service the client talks to: by name, or a record of your own. Default "openai". */
  readonly service?: OpenAiServiceName | OpenAiService;
}

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
  check("options", objectWith(), options);
  const { client, service = "openai" } = options;
  check("client", objectWith(), client);
  check("client.files", objectWith(), client.files);
  check("client.batches", objectWith(), client.batches);
  checkSdkVersion(client, SDK);
  checkMethods("client.files", client.files, ["create", "content", "list", "delete"]);
  checkMethods("client.batches", client.batches, ["create", "retrieve", "list", "cancel"]);
  const record = typeof service === "string" ? serviceOf(service) : service;
  return new OpenAiAccount(client, record, resolveAccountOptions(options, ["client", "service"], record.capabilities));
}

function serviceOf(name: OpenAiServiceName): OpenAiService {
  check("service", oneOf(...Object.keys(openaiServices)), name);
  const service = openaiServices[name];
  if (service === undefined) throw invalidOption(RangeError, `There is no service "${name}"`);
  return service;
}

class OpenAiAccount implements Account {
  readonly name: string;
  readonly capabilities: Account["capabilities"];
  readonly models: readonly string[] | null;
  readonly weight: number;
  readonly pollMs: number;
  readonly requestTimeoutMs: number;
  readonly reconcileGraceMs: number;
  readonly cleanup?: NonNullable<Account["cleanup"]>;
  readonly #client: OpenAiClient;
  readonly #service: OpenAiService;

  constructor(client: OpenAiClient, service: OpenAiService, settings: AccountSettings) {
    this.#client = client;
    this.#service = service;
    this.name = settings.name;
    this.capabilities = settings.capabilities;
    this.models = settings.models;
    this.weight = settings.weight;
    this.pollMs = settings.pollMs;
    this.requestTimeoutMs = settings.requestTimeoutMs;
    this.reconcileGraceMs = settings.reconcileGraceMs;
    if (settings.cleanup) this.cleanup = (batch, call) => this.#cleanUp(batch, call);
  }

  encodeLine(request: LineRequest): string {
    return openaiLine(request, this.#urlOf(request.endpoint));
  }

  lineBytes(request: LineRequest, bodyBytes: number): number {
    return openaiLineBytes(request, bodyBytes, this.#urlOf(request.endpoint));
  }

  #urlOf(endpoint: Endpoint): string {
    return this.#service.urls?.[endpoint] ?? endpoint;
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    const { maxInputs } = this.#service;
    checkBody({ endpoints: this.capabilities.endpoints, maxInputs }, endpoint, body);
  }

  async upload(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }> {
    const purpose = this.#service.filePurpose as "batch";
    const file = await this.#client.files.create({ file: uploadOf(input), purpose }, callSettings(call));
    const fileId = text(objectOf(file).id);
    if (fileId === null) throw new Error("The provider answered the upload without a file id.");
    return { fileId };
  }

  async create(input: CreateInput, call: CallOptions): Promise<ProviderBatch> {
    if (!("fileId" in input.input)) throw new TypeError("Expected an uploaded file.");
    const body: BatchCreateBody = {
      input_file_id: input.input.fileId,
      endpoint: this.#urlOf(input.endpoint) as BatchCreateBody["endpoint"],
      completion_window: this.#service.completionWindow as "24h",
    };
    const metadata = { [TAG_KEY]: input.key, [TAG_ATTEMPT]: String(input.attempt) };
    const tagged = this.capabilities.tag === "metadata" ? { ...body, metadata } : body;
    return toProviderBatch(await this.#client.batches.create(tagged, callSettings(call)));
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
    try {
      return toProviderBatch(await this.#client.batches.retrieve(id, callSettings(call)));
    } catch (error) {
      if (readSdkError(error).status === 404) return null;
      throw error;
    }
  }

  async *results(batch: ProviderBatch, call: CallOptions): AsyncGenerator<ResultLine> {
    for (const ref of batch.resultRefs) {
      const { body } = await this.#client.files.content(ref, callSettings(call));
      for await (const line of readJsonLines(body)) yield toResultLine(line);
    }
  }

  async cancel(id: string, call: CallOptions): Promise<ProviderBatch> {
    try {
      return toProviderBatch(await this.#client.batches.cancel(id, callSettings(call)));
    } catch (error) {
      // What has ended cannot be cancelled any more.
      if (readSdkError(error).status !== 409) throw error;
      return toProviderBatch(await this.#client.batches.retrieve(id, callSettings(call)));
    }
  }

  async *listFiles(call: CallOptions): AsyncGenerator<{ readonly fileId: string; readonly fileName: string }> {
    const query = { purpose: this.#service.filePurpose, limit: FILES_A_PAGE };
    let after: string | null = null;
    do {
      const page: unknown = await this.#client.files.list(
        after === null ? query : { ...query, after },
        callSettings(call),
      );
      const rows = rowsOf(page);
      for (const row of rows) {
        const { id, filename } = objectOf(row);
        if (typeof id === "string" && typeof filename === "string") yield { fileId: id, fileName: filename };
      }
      after = nextOf(page, rows);
    } while (after !== null);
  }

  async deleteFile(fileId: string, call: CallOptions): Promise<void> {
    try {
      await this.#client.files.delete(fileId, callSettings(call));
    } catch (error) {
      if (readSdkError(error).status !== 404) throw error;
    }
  }

  /** The batch itself stays listed: there is no call that deletes one. */
  async #cleanUp({ providerBatchId, fileId }: CleanupInput, call: CallOptions): Promise<void> {
    const batch = await this.retrieve(providerBatchId, call);
    const files = new Set([...(batch?.resultRefs ?? []), batch?.inputFileId ?? fileId]);
    for (const id of files) if (id !== null) await this.deleteFile(id, call);
  }

  classify(error: unknown, operation: Operation): Failure {
    return classify(error, operation);
  }
}

/** The lines as a file that the client streams: joined to chunks, because one write a line is slow. */
function uploadOf(input: BatchInput): UploadSource {
  return { path: input.fileName, [Symbol.asyncIterator]: () => chunksOf(input.lines()) };
}

async function* chunksOf(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let [pieces, characters]: [string[], number] = [[], 0];
  for await (const line of lines) {
    pieces.push(line);
    characters += line.length;
    if (characters < CHUNK_CHARACTERS) continue;
    yield encoder.encode(pieces.join(""));
    [pieces, characters] = [[], 0];
  }
  if (pieces.length > 0) yield encoder.encode(pieces.join(""));
}

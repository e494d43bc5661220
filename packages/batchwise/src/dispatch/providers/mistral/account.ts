// An account at Mistral, over the user's own `@mistralai/mistralai` client. Converts chats,
// embeddings and moderations from and to OpenAI's format. Each operation is one logical call
// without SDK retries. The account keeps no state and decides nothing.

import { check, finiteIntegerFrom, objectWith } from "../../../core/contract/validate.ts";
import {
  type Account,
  type AccountOptions,
  type BatchInput,
  type BatchName,
  type CallOptions,
  type CleanupInput,
  type CreateInput,
  isOlder,
  type LineRequest,
  type ListPage,
  type ProviderBatch,
  type ResultLine,
} from "../../contract/account.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { timeOfKey } from "../../format/encode.ts";
import { AccountFields } from "../shapes/account-fields.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { TAG_KEY, tagMetadata } from "../shapes/batch-names.ts";
import { cancelBatch } from "../shapes/cancel-batch.ts";
import { fileIdOf, filesIn } from "../shapes/files.ts";
import { blobOf } from "../shapes/lines/lines-blob.ts";
import { pagesOf } from "../shapes/lines/list-rows.ts";
import { readJsonLines } from "../shapes/lines/read-lines.ts";
import { readResults } from "../shapes/lines/read-results.ts";
import { isMissing } from "../shapes/sdk/classify-status.ts";
import { followed } from "../shapes/sdk/redirects.ts";
import { checkIsClient, checkMethods } from "../shapes/sdk/sdk-client.ts";
import { jsonObject, objectOf } from "../shapes/sdk/sdk-error.ts";
import { unlessMissing } from "../shapes/sdk/unless-missing.ts";
import { answerOf, bytesOf, downloadCall, mistralFollower, streamedCall, timedCall } from "./call.ts";
import { mistralCapabilities } from "./capabilities.ts";
import { classify, readMistralError } from "./classify.ts";
import type { MistralClient, MistralJobBody, MistralJobQuery } from "./client.ts";
import { jobOf, nextOf, rowsOf, toProviderBatch, toResultLine } from "./convert.ts";
import { toEmbeddingRequest, toModerationRequest } from "./inputs.ts";
import { invalid } from "./refusal.ts";
import { toChatRequest } from "./request.ts";

const FILES_A_PAGE = 100;
/**
 * Maximum difference between our clock and the service's, in ms, when job times are compared with a
 * key's time.
 */
const CLOCK_SKEW_MS = 600_000;
const REFUSALS: readonly number[] = [400, 404, 409, 422];

/** Options of `mistralAccount`, and the common account options. */
export interface MistralAccountOptions extends AccountOptions {
  /** `new Mistral()` of `@mistralai/mistralai` 2. */
  readonly client: MistralClient;
  /**
   * Whole hours after which Mistral ends an unfinished job; its results so far count. Default 24.
   */
  readonly timeoutHours?: number;
}

const HOUR_MS = 3_600_000;

/**
 * An account for the dispatcher's `accounts`.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 * @example
 * ```ts
 * import { type MistralClient, mistralAccount } from "batchwise/dispatch/mistral";
 * declare const client: MistralClient; // new Mistral({ apiKey })
 * const account = mistralAccount({ client, models: ["mistral-small-latest"], timeoutHours: 48 });
 * ```
 */
export function mistralAccount(options: MistralAccountOptions): Account {
  check("options", objectWith(), options);
  const { client, timeoutHours = 24 } = options;
  checkIsClient(client);
  check("client.files", objectWith(), client.files);
  check("client.batch", objectWith(), client.batch);
  check("client.batch.jobs", objectWith(), client.batch.jobs);
  checkMethods("client.files", client.files, ["upload", "download", "list", "delete"]);
  checkMethods("client.batch.jobs", client.batch.jobs, ["create", "get", "list", "cancel", "delete"]);
  check("timeoutHours", finiteIntegerFrom(1), timeoutHours);
  const settings = resolveAccountOptions(options, ["client", "timeoutHours"], {
    ...mistralCapabilities,
    completionWindowMs: timeoutHours * HOUR_MS,
  });
  return new MistralAccount(client, timeoutHours, settings);
}

class MistralAccount extends AccountFields implements Account {
  readonly #client: MistralClient;
  readonly #hours: number;

  constructor(client: MistralClient, timeoutHours: number, settings: AccountSettings) {
    super(settings, classify);
    this.#client = client;
    this.#hours = timeoutHours;
  }

  encodeLine({ customId, endpoint, body }: LineRequest): string {
    const converted = toRequest(endpoint, JSON.parse(body));
    const text = converted === null ? body : JSON.stringify(converted);
    return `{"custom_id":"${customId}","body":${text}}\n`;
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    if (!this.capabilities.endpoints.includes(endpoint))
      throw invalid(`the endpoint "${endpoint}" is not served there`);
    toRequest(endpoint, body);
  }

  async upload(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }> {
    const file = new File([await blobOf(input)], input.fileName);
    const sent = this.#client.files.upload({ file, purpose: "batch" }, timedCall(call));
    return { fileId: fileIdOf(await answerOf(sent)) };
  }

  async create(input: CreateInput, call: CallOptions): Promise<ProviderBatch> {
    const source = "fileId" in input.input ? { inputFiles: [input.input.fileId] } : await inline(input.input);
    const body: MistralJobBody = {
      ...source,
      endpoint: input.endpoint as MistralJobBody["endpoint"],
      model: input.model,
      metadata: tagMetadata(input),
      timeoutHours: this.#hours,
    };
    return this.#seen(await answerOf(this.#client.batch.jobs.create(body, timedCall(call))));
  }

  async list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage> {
    const pageSize = Math.min(page.limit, this.capabilities.list.pageSize);
    return this.#page({ page: Number(page.cursor ?? 0), pageSize }, call);
  }

  /**
   * Finds jobs by tag. The client sends the metadata filter as query parameters, and nothing
   * documents what the service does with them: it may return all jobs, none, or an error. So a
   * match counts; an empty answer is checked against the full list.
   */
  async find(tag: BatchName, call: CallOptions): Promise<readonly ProviderBatch[]> {
    const metadata = { [TAG_KEY]: tag.key };
    const found = await this.#search(tag.key, { metadata }, call).catch((error: unknown) => {
      if (isRefused(error)) return [];
      throw error;
    });
    return found.length > 0 ? found : this.#search(tag.key, {}, call);
  }

  /** Jobs with this key, of all attempts, from the newest back to the key's time. */
  async #search(key: string, filter: Pick<MistralJobQuery, "metadata">, call: CallOptions): Promise<ProviderBatch[]> {
    const since = timeOfKey(key) - CLOCK_SKEW_MS;
    const found: ProviderBatch[] = [];
    const read = (page: string | null): Promise<ListPage> =>
      this.#page({ ...filter, page: Number(page), pageSize: this.capabilities.list.pageSize }, call);
    for await (const { batches } of pagesOf(read, ({ next }) => next)) {
      found.push(...batches.filter(({ tag }) => tag?.key === key));
      if (batches.some((seen) => isOlder(seen, since))) break;
    }
    return found;
  }

  async #page(query: Omit<MistralJobQuery, "orderBy">, call: CallOptions): Promise<ListPage> {
    const sent = this.#client.batch.jobs.list({ ...query, orderBy: "-created" }, timedCall(call));
    const answer = await answerOf(sent);
    return { batches: rowsOf(answer).map((job) => this.#seen(job)), next: nextOf(answer, query.page) };
  }

  async retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null> {
    return unlessMissing(
      async () => this.#seen(await answerOf(this.#client.batch.jobs.get({ jobId: id }, timedCall(call)))),
      isGone,
    );
  }

  results(batch: ProviderBatch, call: CallOptions, { endpoint }: BatchName): AsyncGenerator<ResultLine> {
    const open = (ref: string): AsyncGenerator<JsonObject> => this.#lines(ref, call);
    return readResults(batch.resultRefs, open, (line) => toResultLine(line, endpoint));
  }

  async *#lines(ref: string, call: CallOptions): AsyncGenerator<JsonObject> {
    const jobId = jobOf(ref);
    if (jobId === null) {
      const started = bytesOf(this.#client.files.download({ fileId: ref }, downloadCall(call)));
      const answer = await followed(started, mistralFollower(this.#client, call), call);
      const { body = answer } = objectOf(answer);
      yield* readJsonLines(body);
      return;
    }
    const job = await answerOf(this.#client.batch.jobs.get({ jobId, inline: true }, streamedCall(call)));
    const { outputs } = objectOf(job);
    for (const output of Array.isArray(outputs) ? outputs : []) yield jsonObject(output) ?? {};
  }

  async cancel(id: string, call: CallOptions): Promise<ProviderBatch> {
    return cancelBatch(id, {
      cancel: async () => this.#seen(await answerOf(this.#client.batch.jobs.cancel({ jobId: id }, timedCall(call)))),
      isRefusal: isRefused,
      retrieve: () => this.retrieve(id, call),
    });
  }

  async *listFiles(call: CallOptions): AsyncGenerator<{ readonly fileId: string; readonly fileName: string }> {
    const read = (page: string | null): Promise<unknown> => {
      const query = { page: Number(page), pageSize: FILES_A_PAGE, purpose: "batch" } as const;
      return answerOf(this.#client.files.list(query, timedCall(call)));
    };
    for await (const page of pagesOf(read, (page, at) => nextOf(page, Number(at)))) yield* filesIn(rowsOf(page));
  }

  async deleteFile(fileId: string, call: CallOptions): Promise<void> {
    await unlessMissing(() => answerOf(this.#client.files.delete({ fileId }, timedCall(call))), isGone);
  }

  /**
   * Deletes the files of a job. The job stays listed: deleting it would shift the pages of lists.
   */
  protected override async deleteAll(
    { providerBatchId: jobId, fileId }: CleanupInput,
    call: CallOptions,
  ): Promise<void> {
    const seen = await this.retrieve(jobId, call);
    const results = (seen?.resultRefs ?? []).filter((ref) => jobOf(ref) === null);
    for (const id of fileId === null ? results : [...results, fileId]) await this.deleteFile(id, call);
    if (fileId === null)
      await unlessMissing(() => answerOf(this.#client.batch.jobs.delete({ jobId }, timedCall(call))), isGone);
  }

  #seen(job: unknown): ProviderBatch {
    return toProviderBatch(job, this.#hours);
  }
}

/** The body to send; null for an endpoint whose bodies are not converted. */
function toRequest(endpoint: Endpoint, body: JsonObject): JsonObject | null {
  if (endpoint === "/v1/chat/completions") return toChatRequest(body);
  if (endpoint === "/v1/embeddings") return toEmbeddingRequest(body);
  if (endpoint === "/v1/moderations") return toModerationRequest(body);
  if (body.stream === true) throw invalid("`stream` is not possible in a batch");
  return null;
}

async function inline(input: BatchInput): Promise<Pick<MistralJobBody, "requests">> {
  const requests: { customId: string; body: { [name: string]: unknown } }[] = [];
  for await (const line of input.lines()) {
    const { custom_id: customId, body } = JSON.parse(line);
    requests.push({ customId, body });
  }
  return { requests };
}

function isGone(error: unknown): boolean {
  return isMissing(error, readMistralError);
}

/** True if the service has read the call and refused it. */
function isRefused(error: unknown): boolean {
  return REFUSALS.includes(readMistralError(error).status ?? 0);
}

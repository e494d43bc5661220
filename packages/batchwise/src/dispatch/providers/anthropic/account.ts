// An account at Anthropic, over the user's own `@anthropic-ai/sdk` client. Requests and results are in OpenAI's shape on
// our side and converted here. Each operation is one logical call with the SDK's retries off; it keeps no state and
// decides nothing. Anthropic has no tag for a batch: give the dispatcher a workspace of its own.

import { check, finiteIntegerFrom, objectWith } from "../../../core/contract/validate.ts";
import type {
  Account,
  AccountOptions,
  CallOptions,
  CreateInput,
  Failure,
  LineRequest,
  ListPage,
  Operation,
  ProviderBatch,
  ResultLine,
} from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { callSettings } from "../shapes/sdk-call.ts";
import { checkMethods, checkSdkVersion, type SdkNeed } from "../shapes/sdk-client.ts";
import { objectOf, readSdkError, text } from "../shapes/sdk-error.ts";
import { anthropicCapabilities } from "./capabilities.ts";
import { classify } from "./classify.ts";
import type { AnthropicClient, MessageBatchBody } from "./client.ts";
import { toProviderBatch, toResultLine } from "./convert.ts";
import { unsupported } from "./refusal.ts";
import { toMessageParams } from "./request.ts";

const SDK: SdkNeed = {
  package: "@anthropic-ai/sdk",
  least: 1,
  why: "which repeats calls although retries are switched off",
};

export interface AnthropicAccountOptions extends AccountOptions {
  /** `new Anthropic()` of `@anthropic-ai/sdk` 1 or later. */
  readonly client: AnthropicClient;
  /** For requests that name no limit of their own, because Anthropic demands one. Default 4_096. */
  readonly defaultMaxTokens?: number;
}

/**
 * An account for the dispatcher's `accounts`.
 *
 * @example
 * ```ts
 * import { type AnthropicClient, anthropicAccount } from "batchwise/dispatch/anthropic";
 * declare const client: AnthropicClient; // new Anthropic()
 * const account = anthropicAccount({ client, models: ["claude-haiku-4-5"] });
 * ```
 */
export function anthropicAccount(options: AnthropicAccountOptions): Account {
  check("options", objectWith(), options);
  const { client, defaultMaxTokens = 4_096 } = options;
  check("client", objectWith(), client);
  check("client.messages", objectWith(), client.messages);
  check("client.messages.batches", objectWith(), client.messages.batches);
  checkSdkVersion(client, SDK);
  const methods = ["create", "retrieve", "list", "cancel", "results"];
  checkMethods("client.messages.batches", client.messages.batches, methods);
  check("defaultMaxTokens", finiteIntegerFrom(1), defaultMaxTokens);
  const settings = resolveAccountOptions(options, ["client", "defaultMaxTokens"], anthropicCapabilities);
  return new AnthropicAccount(client, defaultMaxTokens, settings);
}

class AnthropicAccount implements Account {
  readonly name: string;
  readonly capabilities: Account["capabilities"];
  readonly models: readonly string[] | null;
  readonly weight: number;
  readonly pollMs: number;
  readonly requestTimeoutMs: number;
  readonly reconcileGraceMs: number;
  readonly #client: AnthropicClient;
  readonly #defaultMaxTokens: number;

  constructor(client: AnthropicClient, defaultMaxTokens: number, settings: AccountSettings) {
    this.#client = client;
    this.#defaultMaxTokens = defaultMaxTokens;
    this.name = settings.name;
    this.capabilities = settings.capabilities;
    this.models = settings.models;
    this.weight = settings.weight;
    this.pollMs = settings.pollMs;
    this.requestTimeoutMs = settings.requestTimeoutMs;
    this.reconcileGraceMs = settings.reconcileGraceMs;
  }

  encodeLine({ customId, body }: LineRequest): string {
    const params = toMessageParams(JSON.parse(body), this.#defaultMaxTokens);
    return `${JSON.stringify({ custom_id: customId, params })}\n`;
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    if (!this.capabilities.endpoints.includes(endpoint)) throw unsupported(`the endpoint "${endpoint}"`);
    toMessageParams(body, this.#defaultMaxTokens);
  }

  async create(input: CreateInput, call: CallOptions): Promise<ProviderBatch> {
    if ("fileId" in input.input) throw new TypeError("Expected the lines of the batch.");
    const requests: MessageBatchBody["requests"] = [];
    for await (const line of input.input.lines()) requests.push(JSON.parse(line));
    return toProviderBatch(await this.#client.messages.batches.create({ requests }, callSettings(call)));
  }

  async list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage> {
    const limit = Math.min(page.limit, this.capabilities.list.pageSize);
    const query = page.cursor === null ? { limit } : { limit, after_id: page.cursor };
    const { data, has_more, last_id } = objectOf(await this.#client.messages.batches.list(query, callSettings(call)));
    const batches = (Array.isArray(data) ? data : []).map(toProviderBatch);
    return { batches, next: has_more === true ? text(last_id) : null };
  }

  async retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null> {
    try {
      return toProviderBatch(await this.#client.messages.batches.retrieve(id, {}, callSettings(call)));
    } catch (error) {
      if (readSdkError(error).status === 404) return null;
      throw error;
    }
  }

  async *results(batch: ProviderBatch, call: CallOptions): AsyncGenerator<ResultLine> {
    for (const id of batch.resultRefs) {
      const lines = await this.#client.messages.batches.results(id, {}, callSettings(call));
      try {
        for await (const line of lines) yield toResultLine(line, batch);
      } catch (error) {
        // The SDK parses the lines itself: a cut one is its SyntaxError.
        if (!(error instanceof SyntaxError)) throw error;
        throw new DispatchError("RESULTS_UNREADABLE", "A line of the results is not JSON.", error);
      }
    }
  }

  async cancel(id: string, call: CallOptions): Promise<ProviderBatch> {
    try {
      return toProviderBatch(await this.#client.messages.batches.cancel(id, {}, callSettings(call)));
    } catch (error) {
      // What has ended cannot be cancelled any more.
      const { status } = readSdkError(error);
      const seen = status === 400 || status === 409 ? await this.retrieve(id, call) : null;
      if (seen === null || seen.rawState !== "ended") throw error;
      return seen;
    }
  }

  classify(error: unknown, operation: Operation): Failure {
    return classify(error, operation);
  }
}

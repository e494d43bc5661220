// An account at Anthropic, over the user's own `@anthropic-ai/sdk` client. Converts requests and
// results from and to OpenAI's format, except at Anthropic's own endpoint. Each operation is one
// logical call without SDK retries. The account keeps no state and decides nothing. Anthropic has
// no tag for a batch: give the dispatcher a workspace of its own.

import { aBoolean, aString, check, finiteIntegerFrom, objectWith } from "../../../core/contract/validate.ts";
import type {
  Account,
  AccountOptions,
  BatchName,
  CallOptions,
  CleanupInput,
  CreateInput,
  LineRequest,
  ListPage,
  ProviderBatch,
  ResultLine,
} from "../../contract/account.ts";
import type { CachedPrefix } from "../../contract/cached-prefix.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { isSyntaxError } from "../../format/client-error.ts";
import { AccountFields } from "../shapes/account-fields.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { cachedPrefix } from "../shapes/anthropic/cached-prefix.ts";
import { refuse } from "../shapes/anthropic/refuse.ts";
import { toMessageParams } from "../shapes/anthropic/request.ts";
import { cancelBatch } from "../shapes/cancel-batch.ts";
import { rowsOf } from "../shapes/lines/list-rows.ts";
import { readJsonLines } from "../shapes/lines/read-lines.ts";
import { readResults } from "../shapes/lines/read-results.ts";
import { downloadSettings, followed, followerOf } from "../shapes/sdk/redirects.ts";
import { callSettings } from "../shapes/sdk/sdk-call.ts";
import { checkIsClient, checkMethods, checkSdkVersion, type SdkNeed } from "../shapes/sdk/sdk-client.ts";
import { objectOf, readSdkError, text } from "../shapes/sdk/sdk-error.ts";
import { unlessMissing } from "../shapes/sdk/unless-missing.ts";
import { anthropicCapabilities } from "./capabilities.ts";
import { classify } from "./classify.ts";
import {
  type AnthropicClient,
  bytesOf,
  type MessageBatchBody,
  type MessageBatches,
  type MessageBatchParams,
  withOwnResults,
} from "./client.ts";
import { toNativeLine, toProviderBatch, toResultLine } from "./convert.ts";

const OWN = ["client", "defaultMaxTokens", "betas", "workspaceId", "userProfileId", "primeCache"];
/** Anthropic's own endpoint. Its bodies and answers are not converted. */
const NATIVE = "/v1/messages";
const SDK: SdkNeed = {
  package: "@anthropic-ai/sdk",
  least: 1,
  why: "which repeats calls although retries are switched off",
};

/** Options of `anthropicAccount`. */
export interface AnthropicAccountOptions extends AccountOptions {
  /** `new Anthropic()` of `@anthropic-ai/sdk` 1 or later. */
  readonly client: AnthropicClient;
  /** Token limit of requests that set none, because Anthropic requires one. Default 4_096. */
  readonly defaultMaxTokens?: number;
  /**
   * Beta versions for every batch of the account, as in the header `anthropic-beta`. The account
   * then uses `client.beta.messages.batches`. Default: none.
   */
  readonly betas?: readonly string[];
  /** The workspace to use, for credentials that may act in several. */
  readonly workspaceId?: string;
  /** The user profile that every batch of the account is attributed to. */
  readonly userProfileId?: string;
  /**
   * Send one request of each cached prefix ahead, in a batch before the others: these then read the
   * cache that it has written, while requests of one batch read nothing from each other. For
   * requests whose blocks up to the last `cache_control` with `ttl: "1h"` are equal, if at least
   * eight of them are enqueued. The others wait at most an hour, and at most half of the time to
   * their deadline. Default false.
   */
  readonly primeCache?: boolean;
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
  const { client, defaultMaxTokens = 4_096, betas = [], workspaceId, userProfileId } = options;
  const { primeCache = false } = options;
  checkIsClient(client);
  checkSdkVersion(client, SDK);
  check("defaultMaxTokens", finiteIntegerFrom(1), defaultMaxTokens);
  check("primeCache", aBoolean, primeCache);
  for (const beta of betas) check("betas", aString, beta);
  for (const [name, value] of Object.entries({ workspaceId, userProfileId })) {
    if (value !== undefined) check(name, aString, value);
  }
  const settings = resolveAccountOptions(options, OWN, anthropicCapabilities);
  return new AnthropicAccount(settings, {
    client,
    batches: batchesOf(client, betas, settings.cleanup),
    defaultMaxTokens,
    primeCache,
    params: {
      ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
      ...(betas.length === 0 ? {} : { betas: [...betas] }),
    },
    profile: userProfileId === undefined ? {} : { user_profile_id: userProfileId },
  });
}

function batchesOf(client: AnthropicClient, betas: readonly string[], cleansUp: boolean): MessageBatches {
  const [owner, name] = betas.length === 0 ? [client, "client"] : [client.beta, "client.beta"];
  check(name, objectWith(), owner);
  check(`${name}.messages`, objectWith(), owner?.messages);
  const batches = owner?.messages.batches;
  check(`${name}.messages.batches`, objectWith(), batches);
  const methods = ["create", "retrieve", "list", "cancel", "results", ...(cleansUp ? ["delete"] : [])];
  checkMethods(`${name}.messages.batches`, batches as MessageBatches, methods);
  return batches as MessageBatches;
}

/** Settings of one account. */
interface AnthropicSettings {
  readonly client: AnthropicClient;
  readonly batches: MessageBatches;
  readonly defaultMaxTokens: number;
  readonly primeCache: boolean;
  /** Parameters of each call. */
  readonly params: MessageBatchParams;
  /** Additional parameters of a create. */
  readonly profile: { readonly user_profile_id?: string };
}

class AnthropicAccount extends AccountFields implements Account {
  readonly betas: readonly string[];
  readonly cachedPrefix?: NonNullable<Account["cachedPrefix"]>;
  readonly #anthropic: AnthropicSettings;

  constructor(settings: AccountSettings, anthropic: AnthropicSettings) {
    super(settings, classify);
    this.#anthropic = anthropic;
    this.betas = anthropic.params.betas ?? [];
    if (anthropic.primeCache) this.cachedPrefix = (endpoint, body) => this.#cachedPrefix(endpoint, body);
  }

  encodeLine({ customId, endpoint, body }: LineRequest): string {
    const params =
      endpoint === NATIVE ? body : JSON.stringify(toMessageParams(JSON.parse(body), this.#anthropic.defaultMaxTokens));
    return `{"custom_id":${JSON.stringify(customId)},"params":${params}}\n`;
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    if (!this.capabilities.endpoints.includes(endpoint)) throw refuse.unsupported(`the endpoint "${endpoint}"`);
    if (endpoint !== NATIVE) toMessageParams(body, this.#anthropic.defaultMaxTokens);
    else if (body.stream === true) throw refuse.invalid("`stream` is not possible in a batch");
  }

  #cachedPrefix(endpoint: Endpoint, body: JsonObject): CachedPrefix | null {
    return cachedPrefix(endpoint === NATIVE ? body : toMessageParams(body, this.#anthropic.defaultMaxTokens));
  }

  async create(input: CreateInput, call: CallOptions): Promise<ProviderBatch> {
    if ("fileId" in input.input) throw new TypeError("Expected the lines of the batch.");
    const requests: MessageBatchBody["requests"] = [];
    for await (const line of input.input.lines()) requests.push(JSON.parse(line));
    const { batches, params, profile } = this.#anthropic;
    return toProviderBatch(await batches.create({ requests, ...params, ...profile }, callSettings(call)));
  }

  async list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage> {
    const limit = Math.min(page.limit, this.capabilities.list.pageSize);
    const query = page.cursor === null ? { limit } : { limit, after_id: page.cursor };
    const { batches, params } = this.#anthropic;
    const answer: unknown = await batches.list({ ...query, ...params }, callSettings(call));
    const found = rowsOf(answer).map(toProviderBatch);
    const { has_more: hasMore, last_id: lastId } = objectOf(answer);
    return { batches: found, next: hasMore === true ? (text(lastId) ?? found.at(-1)?.id ?? null) : null };
  }

  async retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null> {
    const { batches, params } = this.#anthropic;
    return unlessMissing(async () => toProviderBatch(await batches.retrieve(id, params, callSettings(call))));
  }

  results(batch: ProviderBatch, call: CallOptions, { endpoint }: BatchName): AsyncGenerator<ResultLine> {
    const toLine = endpoint === NATIVE ? toNativeLine : toResultLine;
    return readResults(
      batch.resultRefs,
      (id) => this.#lines(id, call),
      (line) => toLine(line, batch),
    );
  }

  async *#lines(id: string, call: CallOptions): AsyncGenerator<unknown> {
    const { client, batches, params } = this.#anthropic;
    const started = withOwnResults(batches, client).results(id, params, downloadSettings(call));
    const lines = await followed(started, followerOf(client, call), call);
    const bytes = "body" in lines ? lines.body : bytesOf(lines);
    if (bytes !== null) {
      yield* readJsonLines(bytes);
      return;
    }
    try {
      yield* lines as AsyncIterable<unknown>;
    } catch (error) {
      // The SDK parses the lines itself: a cut line throws its SyntaxError.
      if (!isSyntaxError(error)) throw error;
      throw new DispatchError("RESULTS_UNREADABLE", "A line of the results is not JSON.", error);
    }
  }

  async cancel(id: string, call: CallOptions): Promise<ProviderBatch> {
    const { batches, params } = this.#anthropic;
    return cancelBatch(id, {
      cancel: async () => toProviderBatch(await batches.cancel(id, params, callSettings(call))),
      isRefusal: (error) => [400, 409].includes(readSdkError(error).status ?? 0),
      retrieve: () => this.retrieve(id, call),
    });
  }

  /** Deletes the batch with its input and its results. */
  protected override async deleteAll({ providerBatchId }: CleanupInput, call: CallOptions): Promise<void> {
    const { batches, params } = this.#anthropic;
    await unlessMissing(async () => batches.delete?.(providerBatchId, params, callSettings(call)));
  }
}

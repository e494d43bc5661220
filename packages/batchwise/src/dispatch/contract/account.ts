// The adapter of one account at a provider: it turns our operations into calls on the user's own
// client. It keeps no state, starts no timer, never retries (SDK retries are off) and decides
// nothing: the dispatcher does, from `capabilities` and `classify`. OpenAI-compatible services
// differ only in their capabilities.
//
// Contract of the operations:
// - Each makes one logical call, honours `signal` and `timeoutMs`, and rejects with the client's
//   error; `classify` turns that into a Failure. The adapter converts to our states and formats.
// - Only `create` can make a provider run anything. It carries the tag itself.
// - `encodeLine` and `classify` are pure. A line is equal on every machine and in every version.

import type { CachedPrefix } from "./cached-prefix.ts";
import type { Capabilities, JsonSchemas, ProviderLimits } from "./capabilities.ts";
import type { Failure, Operation } from "./failures.ts";
import type { Endpoint, JsonObject, OutcomeError, OutcomeResponse, Usage } from "./types.ts";

/** Options of every account factory, besides its `client`. */
export interface AccountOptions {
  /** Unique in a dispatcher and permanent: every batch stores it. Default: the provider's name. */
  readonly name?: string;
  readonly limits?: Partial<ProviderLimits>;
  readonly models?: readonly string[];
  /** Share of the work relative to other accounts. Default 1. */
  readonly weight?: number;
  /** Delay of the first poll after a submit, in ms; later ones adapt upwards. Default 30_000. */
  readonly pollMs?: number;
  /** In ms. Default 60_000. */
  readonly requestTimeoutMs?: number;
  /** Time to search for a create with an unknown result, in ms. Default 300_000. */
  readonly reconcileGraceMs?: number;
  /**
   * Delete a batch's input and output at the provider once its results are durable. Default false.
   */
  readonly cleanup?: boolean;
  /**
   * Take only requests that other accounts cannot: the tail of a lane that has waited `maxAgeMs`
   * with fewer requests than others accept, and requests that others would return after their
   * deadline, by their recent batch times. Default false.
   */
  readonly fallback?: boolean;
  /** False: do not check chat bodies against OpenAI's types. Default true. */
  readonly checkBodies?: boolean;
}

/** A batch's identity, for calls about it. */
export interface BatchName {
  /** 26 characters, unique. */
  readonly key: string;
  /** The attempt's number, from 1. Key and attempt are the tag. */
  readonly attempt: number;
  readonly endpoint: Endpoint;
  readonly model: string;
}

/**
 * One request to send. `body` is JSON text with the model, in OpenAI's format for OpenAI's
 * endpoints, in the provider's own for its own (such as `/v1/messages`), which are not converted.
 */
export interface LineRequest {
  readonly customId: string;
  readonly endpoint: Endpoint;
  readonly body: string;
}

/** Limits of each call: it ends by this time, or when the signal aborts. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** The source of a file or an inline create. May be read more than once, with the same lines. */
export interface BatchInput {
  /** `<key>-<attempt>.jsonl` */
  readonly fileName: string;
  readonly requests: number;
  readonly bytes: number;
  /** Lines of `encodeLine`, each ending in a newline, in order of `ord`. */
  lines(): AsyncIterable<string>;
}

/** The source of a new batch. */
export interface CreateInput extends BatchName {
  /** The uploaded file, or the lines of an inline create (see `maxInlineBytes`). */
  readonly input: { readonly fileId: string } | BatchInput;
  /** Reads the JSON text of the first body, for parameters that the batch shares: see `groupOf`. */
  firstBody(): Promise<string>;
}

/** A batch whose results are all durable. */
export interface CleanupInput extends BatchName {
  readonly providerBatchId: string;
  /** The result of `upload`; null for an inline create. */
  readonly fileId: string | null;
}

/** Our name of a batch's state at the provider. */
export type ProviderState =
  | "validating"
  | "running"
  | "finalizing"
  | "cancelling"
  /** This and later states are terminal. All but `failed` may have results, or none. */
  | "done"
  | "cancelled"
  | "expired"
  | "failed";

const TERMINAL: readonly ProviderState[] = ["done", "cancelled", "expired", "failed"];

/** True if the provider's batch no longer runs. */
export function hasEnded(batch: Pick<ProviderBatch, "state">): boolean {
  return TERMINAL.includes(batch.state);
}

/** True if the provider says that the batch was created before `since`. */
export function isOlder({ createdAt }: Pick<ProviderBatch, "createdAt">, since: number): boolean {
  return createdAt > 0 && createdAt < since;
}

/** The provider's view of a batch, in our types. An unknown state is `running`, never terminal. */
export interface ProviderBatch {
  readonly id: string;
  readonly state: ProviderState;
  /** The provider's own name. */
  readonly rawState: string;
  /** 0 if the provider does not say; such a batch never counts as old. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** Our tag, if the provider returns it. */
  readonly tag: { readonly key: string; readonly attempt: number } | null;
  readonly inputFileId: string | null;
  /** null while the provider does not know it; 0 during validation counts as unknown. */
  readonly total: number | null;
  readonly settled: number | null;
  /**
   * Requests of an ended batch that ran, by the provider's counts; each has a result line. Members
   * are missing only once this many lines were read. Absent or null without counts.
   */
  readonly ran?: number | null;
  /** The provider's request counts, for `on("poll")`; absent or null if there are none yet. */
  readonly counts?: { readonly total: number; readonly succeeded: number; readonly failed: number } | null;
  /** Tokens of the whole batch, if the provider sums them; for `on("poll")`. */
  readonly usage?: Usage | null;
  /** File ids or addresses of results, without "" and null. Empty if there are none. */
  readonly resultRefs: readonly string[];
  /**
   * Reason of a whole failure, if known; else null. Checked before `resultRefs`. A failure of the
   * account (`authOrBilling`) pauses the account, even before the batch has ended.
   */
  readonly failure: Failure | null;
}

/** One page of the provider's batches. */
export interface ListPage {
  readonly batches: readonly ProviderBatch[];
  /** The `cursor` of the next page; null at the end. */
  readonly next: string | null;
}

/**
 * One result line: in OpenAI's format for OpenAI's endpoints, unchanged for the provider's own.
 * Both null: the provider gave no reason.
 */
export interface ResultLine {
  readonly customId: string;
  readonly response: OutcomeResponse | null;
  readonly error: OutcomeError | null;
  readonly usage: Usage | null;
}

/** One set of credentials and limits at a provider. The top of this file has its contract. */
export interface Account {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** null: any model. */
  readonly models: readonly string[] | null;
  readonly weight: number;
  readonly pollMs: number;
  readonly requestTimeoutMs: number;
  readonly reconcileGraceMs: number;
  /**
   * The line of one request, ending in a newline. Throws INVALID_REQUEST, naming the path, for a
   * request that the provider does not support. Called at enqueue, so such a request is never
   * stored.
   */
  encodeLine(request: LineRequest): string;
  /** UTF-8 bytes of that line for a body of `bodyBytes`, if this is faster than making it. */
  lineBytes?(request: LineRequest, bodyBytes: number): number;
  /** Checks a parsed body for fields that batches refuse. Throws like `encodeLine`. */
  checkBody(endpoint: Endpoint, body: JsonObject): void;
  /**
   * Its current keys and passwords, to be removed from errors, logs and the store. Called often.
   * Those of fewer than 12 characters are kept. Absent: none are known.
   */
  secrets?(): readonly string[];
  /** Beta versions of each of its batches, as in the header `anthropic-beta`. Absent: none. */
  readonly betas?: readonly string[];
  /** False: chat completion bodies need not match OpenAI's types. Absent: they must. */
  readonly checkBodies?: boolean;
  /**
   * The group of a request; null for the default group. A batch has requests of one group only. For
   * batches with shared parameters besides the model: return these as a deterministic text. Pure.
   * Absent: one group.
   */
  groupOf?(endpoint: Endpoint, body: JsonObject): string | null;
  /**
   * The prefix of the request that its prompt cache keeps; null if it keeps none. Requests with
   * equal prefixes read the cache that one of them has written, so one is sent ahead. Pure.
   * Absent: no request is sent ahead.
   */
  cachedPrefix?(endpoint: Endpoint, body: JsonObject): CachedPrefix | null;
  /**
   * True for a model whose result lines have no ids, so that `results` names each by its input
   * place. Such a batch is sent without gaps: if a member has left, the others go into a new batch.
   * Pure. Absent: false.
   */
  isNamedByPlace?(model: string): boolean;
  /** Where models differ: `capabilities.jsonSchemas` of this one; null for none. */
  jsonSchemasOf?(model: string): JsonSchemas | null;
  /** Needed unless `maxInlineBytes` is Infinity. Called only for larger batches. */
  upload?(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }>;
  /**
   * For providers that refuse a create while they process its file: false meanwhile. Called after
   * each upload and before a repeated create. Absent: files are usable at once.
   */
  isFileReady?(fileId: string, call: CallOptions): Promise<boolean>;
  create(input: CreateInput, call: CallOptions): Promise<ProviderBatch>;
  list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage>;
  /**
   * The cheapest call that shows whether the account works. Rejects without a network or a valid
   * key. Absent: a page of one batch is listed.
   */
  check?(call: CallOptions): Promise<void>;
  /**
   * All batches with the tag: of this attempt and, if the provider can search for them, earlier
   * ones. For providers that filter; otherwise `list` is searched. An empty answer must be as
   * reliable as a full list without the batch.
   */
  find?(tag: BatchName, call: CallOptions): Promise<readonly ProviderBatch[]>;
  /** null: the provider does not know it (404). */
  retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null>;
  /**
   * All result lines of a terminal batch, successes and errors, in any order, as they arrive; a
   * line may have megabytes. Ends normally only after the last byte of every source. A cut or
   * unreadable source rejects (RESULTS_UNREADABLE for a line that is not JSON), because members
   * without a line are then unseen, not missing. `name`: the request's facts that lines may lack.
   */
  results(batch: ProviderBatch, call: CallOptions, name: BatchName): AsyncIterable<ResultLine>;
  /**
   * For an ended batch without a line for some member: how many requests ran, by another of the
   * provider's counts than `ran`. The larger count is used. null: there is none.
   */
  countRan?(batch: ProviderBatch, call: CallOptions): Promise<number | null>;
  /**
   * Replaces `results` for accounts without a provider. Runs the lines of `encodeLine` and yields
   * each result when it is ready, in any order. Takes a line only when it can run it. Ends after
   * the last line. Each line has the account's own timeout; a fault of one line is its result. A
   * fault of all lines, such as an unreachable server, rejects after the results of running lines;
   * the rest runs later, uncharged. After an abort it starts no line and ends soon.
   *
   * The dispatcher calls it for a created batch with its open members until none is left. So
   * `create` of such an account does nothing and may be repeated: its `tag` is `idempotencyToken`.
   */
  execute?(lines: AsyncIterable<string>, call: Pick<CallOptions, "signal">, name: BatchName): AsyncIterable<ResultLine>;
  /** Requests a cancel; an ended batch is no error. Resolves with the current batch. */
  cancel(id: string, call: CallOptions): Promise<ProviderBatch>;
  /** Only with `listsFiles`: our uploads, by file name. */
  listFiles?(call: CallOptions): AsyncIterable<{ readonly fileId: string; readonly fileName: string }>;
  deleteFile?(fileId: string, call: CallOptions): Promise<void>;
  /**
   * Present only with the option `cleanup`. Deletes the batch's input and output; missing ones are
   * no error. Called once all results are durable, and again after a crash. A failure is only
   * reported to `onError`.
   */
  cleanup?(batch: CleanupInput, call: CallOptions): Promise<void>;
  classify(error: unknown, operation: Operation): Failure;
}

// What an adapter is: one object per account that turns our operations into calls on the user's own client. It keeps
// no state, starts no timer, never retries (SDK retries are switched off on every call) and decides nothing: the
// dispatcher does, from `capabilities` and `classify`. OpenAI-shaped services differ by their capabilities record only.
//
// Contract of the operations
// - Each makes one logical call, honours `signal` and `timeoutMs`, and rejects with whatever the client threw;
//   `classify` turns that into a Failure. Mapping to our states and shapes happens inside the adapter.
// - Only `create` can make a provider run something. Its tag must be in the same call as the creation.
// - `encodeLine` and `classify` are pure. The same line gives the same text on every machine and in every version.

import type { Endpoint, JsonObject, OutcomeError, OutcomeResponse, Usage } from "./types.ts";

/** How a batch of ours is found again at the provider. */
export type TagKind =
  /** Our key and attempt travel with the create and come back in lists. */
  | "metadata"
  /** No tag, but the uploaded file's id comes back in lists: one upload, one batch. */
  | "inputFile"
  /**
   * The same create again with the same token, made of key and attempt, is the same batch: nothing to reconcile. The
   * provider looks the token up before it judges lines or limits.
   */
  | "idempotencyToken"
  /** Nothing comes back: one create at a time per account, and adoption of an id that we do not know. */
  | "none";

/** What a provider can do, and its limits. */
export interface Capabilities {
  /** Name of the service, as in logs: "openai", "azure", "groq", "together", "anthropic". */
  readonly provider: string;
  /** What it takes in batches. Requests for another endpoint are refused at `enqueue`. No spaces, no `#`. */
  readonly endpoints: readonly Endpoint[];
  /**
   * Those of `endpoints` whose bodies are in the provider's own form: of `requestDefaults` they get `model` alone, since
   * the others are written for OpenAI's form. Absent: none.
   */
  readonly nativeEndpoints?: readonly Endpoint[];
  /**
   * Batches of at most so many bytes travel in the create itself; larger ones are uploaded first. 0: always a file.
   * Infinity: always inline. Between: `create` takes both, and the size of the batch decides. What was decided is stored
   * with its first try: each later one goes the same way, whatever this figure is by then.
   */
  readonly maxInlineBytes: number;
  readonly tag: TagKind;
  readonly list: {
    /** False: one call gives all there is. */
    readonly paged: boolean;
    readonly pageSize: number;
    /** True: newest first, so that paging may stop at the start of the attempt. */
    readonly newestFirst: boolean;
  };
  /** Uploaded files can be listed by name, so that uploads nobody uses are found and deleted. */
  readonly listsFiles: boolean;
  /** Whether the enqueued limits hold for the whole account or per model. */
  readonly ledgerScope: "account" | "model";
  /** By the account's option of this name; false unless given. */
  readonly fallback?: boolean;
  /**
   * In ms: the longest that the provider lets a batch run. Where a request has a deadline and a fallback account serves it
   * too, this counts until a batch of the account has ended. Absent: 24 hours.
   */
  readonly completionWindowMs?: number;
  readonly limits: ProviderLimits;
}

/** Defaults that the user overrides with `limits`; Infinity where there is none. */
export interface ProviderLimits {
  readonly maxRequests: number;
  readonly maxBytes: number;
  /** Of one batch. */
  readonly maxTokens: number;
  /** A batch of fewer is refused by the provider. */
  readonly minRequests: number;
  readonly maxEnqueuedTokens: number;
  readonly maxEnqueuedRequests: number;
  readonly maxEnqueuedBatches: number;
  /** Batches that may be created in an hour: half of it is for parts of refused ones. Absent: no limit. */
  readonly maxCreatesPerHour?: number;
  /** Inputs of one batch of embeddings, summed over its requests, of which each may hold a list. Absent: no limit. */
  readonly maxInputs?: number;
}

/** Options that every account factory takes, beside its `client`. */
export interface AccountOptions {
  /** Unique in a dispatcher and lasting: it is written on every batch. Default: the provider's name. */
  readonly name?: string;
  readonly limits?: Partial<ProviderLimits>;
  /** Models it serves; default: any. */
  readonly models?: readonly string[];
  /** Share of the work against other accounts. Default 1. */
  readonly weight?: number;
  /** First poll after a submit; adapts upwards from here. Default 30_000. */
  readonly pollMs?: number;
  /** Default 60_000. */
  readonly requestTimeoutMs?: number;
  /** How long a create of unknown outcome is looked for before it is sent again. Default 300_000. */
  readonly reconcileGraceMs?: number;
  /** Delete a batch's input and output at the provider once all of its results are durable. Default false. */
  readonly cleanup?: boolean;
  /**
   * Takes no work of its own while other accounts serve the same requests: only what they cannot take. That is the tail of a
   * lane that has waited `maxAgeMs` with fewer requests than the others take in a batch, and requests that the others
   * would bring back after their deadline, by the time that batches of these have taken of late. Default false.
   */
  readonly fallback?: boolean;
  /**
   * False: bodies of chat completions are not checked against OpenAI's types for this account, for a service that takes
   * others. Default true.
   */
  readonly checkBodies?: boolean;
}

/** A batch of ours, as far as a call about it may have to know. */
export interface BatchName {
  /** 26 characters, the batch's own. */
  readonly key: string;
  /** The number of the attempt, from 1. Key and attempt are the tag. */
  readonly attempt: number;
  readonly endpoint: Endpoint;
  readonly model: string;
}

/**
 * One request on its way to the provider. `body` is JSON text: in OpenAI's shape for OpenAI's endpoints, in the
 * provider's own for its own endpoints (such as `/v1/messages`), whose bodies travel untouched. It names the model.
 */
export interface LineRequest {
  readonly customId: string;
  readonly endpoint: Endpoint;
  readonly body: string;
}

/** What each call of an account is given: it ends by this time, or when the signal aborts. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** What a file or an inline create is made from. May be read more than once, with the same lines each time. */
export interface BatchInput {
  /** `<key>-<attempt>.jsonl` */
  readonly fileName: string;
  readonly requests: number;
  readonly bytes: number;
  /** Lines of `encodeLine`, each ending in a newline, in order of `ord`. */
  lines(): AsyncIterable<string>;
}

/** What a batch is created from. */
export interface CreateInput extends BatchName {
  /** The uploaded file, or the lines where the batch travels in the create (see `maxInlineBytes`). */
  readonly input: { readonly fileId: string } | BatchInput;
  /** Reads the JSON text of the batch's first body: for parameters that all of a batch share, see `groupOf`. */
  firstBody(): Promise<string>;
}

/** What is known of a batch whose results are all durable. */
export interface CleanupInput extends BatchName {
  readonly providerBatchId: string;
  /** As `upload` gave it; null where the batch travelled in its create. */
  readonly fileId: string | null;
}

/** A batch's state at the provider, in our words. */
export type ProviderState =
  | "validating"
  | "running"
  | "finalizing"
  | "cancelling"
  /** Terminal from here on. Results may be mixed or absent in all but `failed`. */
  | "done"
  | "cancelled"
  | "expired"
  | "failed";

const TERMINAL: readonly ProviderState[] = ["done", "cancelled", "expired", "failed"];

/** True once nothing of the provider's batch runs any more. */
export function hasEnded(batch: Pick<ProviderBatch, "state">): boolean {
  return TERMINAL.includes(batch.state);
}

/** True where the provider says that the batch was made before `since`. */
export function isOlder({ createdAt }: Pick<ProviderBatch, "createdAt">, since: number): boolean {
  return createdAt > 0 && createdAt < since;
}

/** A batch as the provider tells it, in our words. A state that we do not know is `running`: never terminal. */
export interface ProviderBatch {
  readonly id: string;
  readonly state: ProviderState;
  /** The provider's own word. */
  readonly rawState: string;
  /** 0 where the provider does not say: such a batch is not taken as an old one. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** Our tag, where it comes back. */
  readonly tag: { readonly key: string; readonly attempt: number } | null;
  readonly inputFileId: string | null;
  /** null while the provider does not know it (0 while validating counts as not known). */
  readonly total: number | null;
  readonly settled: number | null;
  /**
   * Of a batch that has ended: requests that have run, by the provider's own counts, each of which has a result line.
   * Members are missing only once as many lines were read. Absent or null where the provider gives no counts.
   */
  readonly ran?: number | null;
  /** As the provider counts its requests, for `on("poll")`; absent or null where it does not, or not yet. */
  readonly counts?: { readonly total: number; readonly succeeded: number; readonly failed: number } | null;
  /** Tokens of the whole batch, where the provider sums them up; for `on("poll")`. */
  readonly usage?: Usage | null;
  /** Where results are: file ids or addresses, "" and null removed. Empty: there are none. */
  readonly resultRefs: readonly string[];
  /** Why it failed as a whole; null unless `failed`, and where the provider says nothing. Comes before `resultRefs`. */
  readonly failure: Failure | null;
}

/** One page of the provider's batches. */
export interface ListPage {
  readonly batches: readonly ProviderBatch[];
  /** Pass as `cursor` for the next page; null at the end. */
  readonly next: string | null;
}

/**
 * One line of results: in OpenAI's shape for OpenAI's endpoints, the provider's own answer for its own endpoints. Both
 * null: the provider gave no reason.
 */
export interface ResultLine {
  readonly customId: string;
  readonly response: OutcomeResponse | null;
  readonly error: OutcomeError | null;
  readonly usage: Usage | null;
}

/** A line that the provider's validation blames; `line` counts from 1, which is `ord` + 1. */
export interface LineFault {
  readonly line: number;
  readonly code: string;
  readonly message: string;
}

/** What an error means for the batch. `unknown` is the default for everything not listed: it is always safe. */
export type Failure =
  /**
   * Refused or never sent (a refused connection, 404, 409 where it proves refusal); nothing runs. May work later.
   * `filePending`: the uploaded file is not processed yet. The same file is tried again within seconds.
   */
  | {
      readonly kind: "definitelyNotCreated";
      readonly code: string;
      readonly message: string;
      readonly filePending?: true;
    }
  /** Timeout, reset, abort, 408, 5xx: it may have happened. */
  | { readonly kind: "unknown"; readonly code: string; readonly message: string }
  /** 429 about call rates; nothing runs. */
  | {
      readonly kind: "rateLimited";
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs: number | null;
    }
  /** Enqueued limit reached; `limitTokens` when the message names it. Backpressure: charges no attempt. */
  | {
      readonly kind: "tokenLimit";
      readonly code: string;
      readonly message: string;
      readonly limitTokens: number | null;
    }
  /** 401, 402, 403, spend limits, an address that is not there: pauses the account, charges no attempt. */
  | { readonly kind: "authOrBilling"; readonly code: string; readonly message: string }
  /** The batch itself is refused (400, 413, 422, validation); `lines` blames requests, empty blames the whole. */
  | {
      readonly kind: "invalidRequest";
      readonly code: string;
      readonly message: string;
      readonly lines: readonly LineFault[];
    };

/** The calls of an account, as `classify` is told of them. */
export type Operation =
  | "upload"
  | "create"
  | "list"
  | "find"
  | "retrieve"
  | "results"
  | "execute"
  | "cancel"
  | "files"
  | "cleanup";

/**
 * One set of credentials and limits at a provider, as the dispatcher calls it. The top of the file has its contract.
 */
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
   * The line for one request, ending in a newline. Throws a DispatchError INVALID_REQUEST for what the provider cannot
   * be asked, naming the place: the dispatcher calls it at enqueue, so that nothing of that kind is ever stored.
   */
  encodeLine(request: LineRequest): string;
  /** Length of that line in UTF-8, from adapters that can tell without making it; the body takes `bodyBytes`. */
  lineBytes?(request: LineRequest, bodyBytes: number): number;
  /** Checks a parsed body for what this provider forbids in batches; throws as `encodeLine` does. */
  checkBody(endpoint: Endpoint, body: JsonObject): void;
  /**
   * Its keys and passwords as they are now, to be blanked in errors, logs and the store. Called often, and only to read. Of
   * fewer than 12 characters they are not blanked. Absent: none are known.
   */
  secrets?(): readonly string[];
  /** Beta versions that each of its batches has, as in the header `anthropic-beta`. Absent: none. */
  readonly betas?: readonly string[];
  /** False: bodies of chat completions need not be what OpenAI's types say. Absent: they must. */
  readonly checkBodies?: boolean;
  /**
   * Only requests of one group share a batch; null for the group of all others. For providers whose batches share
   * parameters beside the model: give these as a text that is the same on every machine. Pure. Absent: one group.
   */
  groupOf?(endpoint: Endpoint, body: JsonObject): string | null;
  /**
   * True for a model whose result lines carry no id of ours, so that `results` names each by its place in the input. Such
   * a batch is sent whole: where members have left it before, the others go back to their lane and into a new batch. Pure.
   * Absent: false for every model.
   */
  isNamedByPlace?(model: string): boolean;
  /** Needed unless `maxInlineBytes` is Infinity. Called for batches above it only. */
  upload?(input: BatchInput, call: CallOptions): Promise<{ readonly fileId: string }>;
  /**
   * Only of providers that refuse a create while they process its file: false while they do. Asked after each upload, and
   * before the create is tried again. Absent: files can be used at once.
   */
  isFileReady?(fileId: string, call: CallOptions): Promise<boolean>;
  create(input: CreateInput, call: CallOptions): Promise<ProviderBatch>;
  list(page: { readonly cursor: string | null; readonly limit: number }, call: CallOptions): Promise<ListPage>;
  /**
   * The cheapest call that shows whether the account works: rejects as the client does without a network or a good key.
   * Absent: a page of one batch is listed.
   */
  check?(call: CallOptions): Promise<void>;
  /**
   * Every batch that carries the tag: of this attempt, and of earlier ones where the provider can be asked for those
   * too. For providers that filter on the server; without it the pages of `list` are searched. An empty answer must
   * mean the same there as a whole list without the batch.
   */
  find?(tag: BatchName, call: CallOptions): Promise<readonly ProviderBatch[]>;
  /** null: the provider does not know it (404). */
  retrieve(id: string, call: CallOptions): Promise<ProviderBatch | null>;
  /**
   * All result lines of a batch in a terminal state, successes and errors, in any order, as they arrive; a line may be
   * megabytes long. Ends normally only after the last byte of every source: a cut or unreadable one rejects (with
   * RESULTS_UNREADABLE where a line is not JSON), because members without a line are then not missing but unseen.
   * `name` says what was asked, for providers whose lines do not.
   */
  results(batch: ProviderBatch, call: CallOptions, name: BatchName): AsyncIterable<ResultLine>;
  /**
   * Of a batch that has ended, and whose results have no line for some member: how many requests have run, by another
   * count of the provider's than `ran` of the batch. The larger of the two counts. null: there is none.
   */
  countRan?(batch: ProviderBatch, call: CallOptions): Promise<number | null>;
  /**
   * Only of accounts without a provider behind them, in place of `results`: runs these lines, of `encodeLine`, and gives
   * each result once it has ended, in any order. It takes a line only when it can run it, and ends by itself after the
   * last. Each line ends in a time of the account's own; what concerns one line is a result of that line. Rejects for
   * what concerns all of them, such as a server that cannot be reached, after the results of what was on its way: the
   * rest is run later, uncharged. Once the signal is aborted it starts no line and ends soon.
   *
   * The dispatcher calls it for a batch that was created, with the members that are still open, until there are none. So
   * a `create` of such an account has nothing to do, and makes no difference when it is repeated: its `tag` is
   * `idempotencyToken`.
   */
  execute?(lines: AsyncIterable<string>, call: Pick<CallOptions, "signal">, name: BatchName): AsyncIterable<ResultLine>;
  /** Asks for it; cancelling what has ended is not an error. Answers with the batch as it is then. */
  cancel(id: string, call: CallOptions): Promise<ProviderBatch>;
  /** Only where `listsFiles`: our uploads, by file name. */
  listFiles?(call: CallOptions): AsyncIterable<{ readonly fileId: string; readonly fileName: string }>;
  deleteFile?(fileId: string, call: CallOptions): Promise<void>;
  /**
   * There only where the option `cleanup` is on: deletes the batch's input and output. What is gone already is no
   * error. Called once all results are durable, and again by the next process where one died meanwhile. Its failure is
   * told to `onError` and changes nothing.
   */
  cleanup?(batch: CleanupInput, call: CallOptions): Promise<void>;
  classify(error: unknown, operation: Operation): Failure;
}

// The rows of requests, batches and usage that go in and out of a Store; ledger-rows.ts, probe.ts
// and outcome-rows.ts have the others. Plain data with no optional place on the way out: null means
// none. Times are milliseconds since 1970. Texts named payload, body, turns, metadata, disposal,
// lastError, shortReads and outage are JSON that stores pass through untouched. Types only.

import type { BatchState, Orphan, OutcomeStatus } from "../types.ts";
import type { LedgerChanges } from "./ledger-rows.ts";

/** A request to be stored. */
export interface NewRequest {
  readonly id: string;
  /**
   * Of endpoint and body as the caller gave them (see format/encode.ts); "" where the caller gave
   * no id. No line break.
   */
  readonly digest: string;
  readonly lane: string;
  readonly priority: number;
  /** "" for none. */
  readonly tenant: string;
  /** "" for none. */
  readonly job: string;
  readonly deadlineAt: number | null;
  /** Length of the encoded line, newline included. */
  readonly bytes: number;
  readonly tokens: number;
  readonly metadata: string | null;
  readonly body: string;
  /** What its lane's payers reserve for it, at most; absent where the lane has none. */
  readonly price?: number;
}

/** A request, as a store keeps it. */
export interface RequestRow {
  readonly id: string;
  readonly lane: string;
  readonly state: "ready" | "claimed" | "ended";
  readonly priority: number;
  readonly tenant: string;
  readonly job: string;
  /** A whole number; higher than that of every request enqueued before it. */
  readonly arrival: number;
  readonly createdAt: number;
  readonly notBefore: number;
  readonly deadlineAt: number | null;
  readonly bytes: number;
  readonly tokens: number;
  readonly attempts: number;
  /** 0, and one more with each `retry` by the user. */
  readonly generation: number;
  /** Batch and place while claimed; null otherwise. */
  readonly batchKey: string | null;
  readonly ord: number | null;
  /**
   * True if its cancel was requested while it was claimed; false again once it has left its batch.
   */
  readonly cancelRequested: boolean;
  /** null until it has ended. */
  readonly ended: Ended | null;
  readonly metadata: string | null;
  /** null unless the query has `bodies`. */
  readonly body: string | null;
  /** Turns that are sent with the body: see `Appended`. null for none, or without bodies. */
  readonly turns: string | null;
  /**
   * The requeues so far, and the endings that a correction has revoked, oldest first; null unless
   * the query has `history`.
   */
  readonly history: readonly HistoryRow[] | null;
}

/** How and where a request ended. */
export interface Ended {
  readonly status: OutcomeStatus;
  /** The code of its error; null for none. */
  readonly code: string | null;
  /** The batch in which it ended; null if it was waiting. */
  readonly batchKey: string | null;
  readonly cursor: number;
  readonly recordedAt: number;
}

/** The replacement of a request's body in a retry, and the fields derived from it. */
export type Correction = Pick<NewRequest, "digest" | "bytes" | "tokens" | "body" | "price">;

/** Turns for a request's next tries, as JSON, and its size with them. They replace earlier ones. */
export interface Appended {
  /** null: without turns again. */
  readonly turns: string | null;
  readonly bytes: number;
  readonly tokens: number;
}

/** One try of a request: in which batch, and how it ended. */
export interface HistoryRow {
  /** null if the request was waiting when it ended. */
  readonly batchKey: string | null;
  readonly code: string;
  readonly at: number;
}

/** Which requests a store reads. */
export type RequestQuery =
  /**
   * With `tombstones`, pruned ones too: as rows of state `ended` whose `ended` is null, and of
   * which only the id counts.
   */
  (
    | { readonly ids: readonly string[]; readonly tombstones?: boolean }
    | { readonly batchKey: string; readonly fromOrd: number; readonly limit: number }
  ) & { readonly bodies?: boolean; readonly history?: boolean };

/** Selects requests that match every given field. */
export interface RequestMatch {
  readonly states?: readonly ("ready" | "claimed" | OutcomeStatus)[];
  /** The batch that has claimed it or in which it ended. */
  readonly batchKey?: string;
  readonly tenant?: string;
  readonly job?: string;
  /** The code of its outcome's error. */
  readonly code?: string;
}

/** Which requests a store finds. */
export interface FindQuery {
  readonly match: RequestMatch;
  /** Only requests that arrived after this one: an `arrival`, or 0. */
  readonly after: number;
  readonly limit: number;
}

/** The requests that a store has found, a page of them. */
export interface FindResult {
  /** Without bodies and history. */
  readonly rows: readonly RequestRow[];
  /** `after` of the next call; null when there is nothing behind this page. */
  readonly next: number | null;
}

/**
 * Tokens of one request, or of many. Cached ones are among the input tokens, reasoning ones among
 * the output tokens.
 */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/**
 * Totals of the requests of one tenant, job and lane since the store was created. A retried request
 * counts again.
 */
export interface UsageRow extends TokenCounts {
  readonly tenant: string;
  readonly job: string;
  readonly lane: string;
  /** Enqueued or retried; counted only if `job` is not empty, else 0. */
  readonly requests: number;
  readonly ended: Readonly<Record<OutcomeStatus, number>>;
}

/** Whose usage a store sums. */
export interface UsageQuery {
  readonly tenant?: string;
  readonly job?: string;
}

/**
 * The stored form of an ending: the payload, and the fields that the store reads without parsing
 * it.
 */
export interface StoredEnding {
  readonly payload: string;
  /** The code of the payload's error; null for none. */
  readonly code: string | null;
  readonly usage: TokenCounts | null;
}

/** A batch, as a store keeps it. */
export interface BatchRow {
  /** ULID: our tag everywhere. */
  readonly key: string;
  readonly lane: string;
  readonly account: string;
  readonly ledger: string;
  readonly state: BatchState;
  /** Members, their bytes and tokens at sealing; never change. */
  readonly requests: number;
  readonly bytes: number;
  readonly tokens: number;
  /** Members not settled yet, and how many of these have a pending cancel. */
  readonly remaining: number;
  readonly cancelRequested: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** 0 until the first intent; one more with each intent to create. */
  readonly submitAttempt: number;
  readonly submitStartedAt: number | null;
  readonly unknownSince: number | null;
  /** Attempts in a row to send it that failed without a refusal, and the time of the first. */
  readonly tries: number;
  readonly triesSince: number | null;
  /** Times it was refused as a whole with no line to blame; the first and the last of them. */
  readonly wholeFailures: number;
  readonly firstRefusedAt: number | null;
  readonly lastRefusedAt: number | null;
  /** When its members were divided into two groups; null: never. */
  readonly splitAt: number | null;
  /** True where its lines travel in the create. Chosen with the first intent; null until then. */
  readonly inline: boolean | null;
  /** The uploaded file. */
  readonly providerFileId: string | null;
  /** Since when the provider has not been done with that file. */
  readonly filePendingSince: number | null;
  readonly providerBatchId: string | null;
  /** False while a batch adopted without a tag has not been proved ours by its results. */
  readonly verified: boolean;
  readonly providerState: string | null;
  /** Looks in a row that did not find it at the provider, and when the first was made. */
  readonly lostLooks: number;
  readonly lostSince: number | null;
  /**
   * Passes in a row of an account that runs its lines, that broke off without a result; once its
   * members are settled, calls of `onBatch` that failed.
   */
  readonly breaks: number;
  /** Reads of its results that failed, and how many of them waiting does not cure. */
  readonly failedReads: number;
  readonly unreadableReads: number;
  /** Reads that found too few lines: see batches/collect/unread-results.ts. */
  readonly shortReads: string | null;
  /** Steps in a row that failed by a mistake in code or an unforeseen answer. */
  readonly failedSteps: number;
  /** When the cancel was sent to the provider; null until then. */
  readonly cancelSentAt: number | null;
  /** How its members end when not by results; see `Disposal` in format/payload.ts. */
  readonly disposal: string | null;
  /** Code and message of the last failure, for people: no code decides by it. */
  readonly lastError: string | null;
  readonly pollMs: number;
  readonly expiresAt: number | null;
  /**
   * Earliest deadline of its members at sealing; the dispatcher writes the next one when it has
   * removed the expired members.
   */
  readonly deadlineAt: number | null;
  readonly nextAt: number;
  readonly leaseOwner: string | null;
  readonly leaseUntil: number;
  readonly fence: number;
  readonly orphans: readonly Orphan[];
}

/**
 * Initial values at sealing: counts and pollMs 0, verified true, nextAt = now, all other nullable
 * fields null.
 */
type BatchFields =
  | "state"
  | "submitAttempt"
  | "submitStartedAt"
  | "unknownSince"
  | ("tries" | "triesSince" | "wholeFailures" | "firstRefusedAt" | "lastRefusedAt" | "splitAt")
  | ("inline" | "providerFileId" | "filePendingSince")
  | "providerBatchId"
  | "verified"
  | "providerState"
  | ("lostLooks" | "lostSince" | "breaks" | "failedReads" | "unreadableReads" | "shortReads" | "failedSteps")
  | "cancelSentAt"
  | "disposal"
  | "lastError"
  | "pollMs"
  | "expiresAt"
  | "deadlineAt"
  | "nextAt"
  | "leaseUntil";

/** Fields to set; absent ones stay. */
export type BatchChanges = Partial<Pick<BatchRow, BatchFields>> & {
  /** Refuse with `busy` while another batch of the account is `submitting` or `unknown`. */
  readonly exclusive?: boolean;
  /**
   * The reservation stops counting at this time; null: it counts, also where it was released, until
   * the next release.
   */
  readonly releaseAt?: number | null;
  readonly ledgers?: readonly LedgerChanges[];
  /** Added to the batch's orphans. An orphan with the same provider id replaces the earlier row. */
  readonly orphans?: readonly Orphan[];
};

/** Which batches a store reads. */
export interface BatchQuery {
  readonly keys?: readonly string[];
  readonly states?: readonly BatchState[];
  readonly account?: string;
  /** Batches that have one of these as the id of record or among their orphans. */
  readonly providerBatchIds?: readonly string[];
  readonly limit: number;
}

// The store contract: sixteen methods that hold every durable fact of the dispatcher. What a
// method's text says is what the conformance suite checks; what it leaves open, a store may choose.
// The rows are in rows.ts.
//
// Rules for all methods
// - One call is one transaction: when it resolves, all of it is durable; when it rejects, all or
//   nothing of it happened and the caller repeats it. Every write is therefore idempotent: repeated
//   with the same arguments it changes nothing more. A store prepares itself (tables, scripts) on
//   its first call.
// - A store has no clock and no chance: `now`, keys and owners come in. It never looks into a body,
//   a payload, a lane's name or `disposal`: these are opaque text.
// - Writes on a batch carry its `fence`, the number that `seal` (1) or the last `lease` of it gave
//   out. Another number than the present one changes nothing and answers
//   `{ ok: false, reason: "fence" }`, as does an unknown key. A lease that ran out but was not
//   taken by anybody still has the present fence: its writes count.
// - Bodies, payloads and history live apart from the small row that claims scan. No method may cost
//   more because ended requests are many. Only `requests` (when asked for bodies), `outcomes` and
//   `deliveries` read large texts.
// - Calls come from many processes at once (memory and embedded stores: from one process,
//   interleaved).
// - Failures reject with a DispatchError: STORE_UNAVAILABLE, STORE_READ_ONLY of a server
//   (retryable); STORE_FULL, STORE_READ_ONLY of a file, STORE_FORBIDDEN, STORE_SCHEMA,
//   STORE_DAMAGED (not).
// - A store whose data can be emptied or set back while processes run on it (a Redis server) knows
//   when that has happened to anything that this process was answered. Every call begun before it
//   found out rejects then with one and the same STORE_SET_BACK, which becomes its `setBack`, and
//   does nothing; later calls work on what is left.
//
// What a store may rely on, because the dispatcher sees to it whatever a provider or a callback
// says:
// - Texts that come in with writes have no NUL character and no half of a surrogate pair. The texts
//   to look for may have both (`usage`, `find`, `outcomes`, `requests`, `batches`, the ids of
//   `amend`, the keys of `lease`): nothing is called so. What an enqueue cannot hold it refuses as
//   a whole, with INVALID_REQUEST.
// - Codes have at most 256 UTF-16 units; provider ids and states, notes, names of marks and the
//   errors of deliveries 2,000; texts inside `lastError` and `disposal` 20,000 each.
// - Token counts of an ending are whole numbers from 0 up to 1,000,000,000, so that their sums stay
//   exact. Other counts, bytes and tokens are whole numbers up to 2^53. Times and limits may have
//   fractions; limits may be Infinity.
//
// Request states: ready -> claimed -> ended, and claimed -> ready when requeued. A claimed request
// belongs to one batch until `settle` decides it; no lease, timeout or other call takes it out. An
// ended request has exactly one outcome.
//
// What is pruned leaves a tombstone, its id and digests, until `prune` takes that away too:
// `enqueue` compares with it, `requests` shows it when asked for, and every other call is as if the
// request had never been. A member of a batch is gone when it is pruned or, after it ended in the
// batch, retried without a correction; until then the batch stays: outcomes and histories name it.
//
// Claim order inside a lane: priority descending, rank ascending, arrival ascending. The rank is
// set once, at enqueue, and shares a lane by tokens among tenants (start-time fair queueing):
//   rank = max(V, F); F = rank + max(1, tokens)
// with F kept for each (lane, priority, tenant) and V for each (lane, priority): the highest rank
// that `seal` has claimed there, both 0 at first. One tenant alone gets plain FIFO. Two enqueues
// that run at the same moment may read the same F. A requeued or retried request keeps its rank and
// arrival, also in another lane. V need not be kept where nothing was ever enqueued (halves of a
// split batch), nor an F that is not above its V: neither changes a rank.
//
// Usage: a row for each (tenant, job, lane) that anything was counted for. In the transaction of
// each change, `enqueue` and `retry` add 1 to `requests` where the request has a job (without one
// nothing is counted there, so that enqueues of many processes meet on no row), and every ending
// adds 1 to `ended` of its status and its tokens. The lane is the one that the request waits in or
// its batch is of, without its group (`laneProper` of lanes.ts). Nothing ever lowers a count, so a
// row for each part of a split batch would stay for ever.

import type { DispatchError } from "./errors.ts";
import type { DeliveryReport, DeliveryRow, OutcomeQuery, OutcomeRow, Settlement } from "./outcome-rows.ts";
import type { PruneInput, PruneStep } from "./pruning.ts";
import type {
  BatchChanges,
  BatchQuery,
  BatchRow,
  Correction,
  FindQuery,
  FindResult,
  LedgerLimits,
  MarkChange,
  MarkRow,
  NewRequest,
  Probe,
  RequestQuery,
  RequestRow,
  UsageQuery,
  UsageRow,
} from "./rows.ts";

/** What became of one enqueued request; see `Store.enqueue`. */
export type EnqueueResult = "stored" | "same" | "conflict";

/** What a store makes a batch of. */
export interface SealInput {
  /** The new batch's key; the same key again answers with the batch as it is and claims nothing. */
  readonly key: string;
  readonly lane: string;
  readonly account: string;
  /** What the reservation is booked on. */
  readonly ledger: string;
  readonly limits: LedgerLimits;
  readonly maxRequests: number;
  readonly maxBytes: number;
  readonly maxTokens: number;
  /** Fewer than this: claim nothing. At least 1. */
  readonly minRequests: number;
  /**
   * Sizes the batch must not have: one of these (above 1) gives its last request back before
   * sealing, and again.
   */
  readonly avoidCounts: readonly number[];
  readonly owner: string;
  readonly leaseUntil: number;
  readonly now: number;
}

/** The batch that a store has made, if any. */
export type SealResult =
  | { readonly ok: true; readonly batch: BatchRow }
  /** `head` is the first request in claim order, so that the caller sees what does not fit. */
  | {
      readonly ok: false;
      readonly reason: "empty" | "too_few" | "blocked" | "no_headroom" | "head_too_large";
      readonly head: { readonly id: string; readonly bytes: number; readonly tokens: number } | null;
    };

/** Which batches a store leases, to whom and until when. */
export interface LeaseInput {
  readonly owner: string;
  readonly now: number;
  /** A batch whose lease ends by then is free. By the same clock as `leaseUntil`. Default `now`. */
  readonly freeAt?: number;
  readonly leaseUntil: number;
  /** Only batches of these accounts. */
  readonly accounts: readonly string[];
  readonly limit: number;
  /** Take these by key: not due ones and ended ones too. */
  readonly keys?: readonly string[];
}

/** Whether a change of state was made, or another process was first. */
export type TransitionResult =
  | { readonly ok: true; readonly batch: BatchRow }
  | { readonly ok: false; readonly reason: "fence" | "busy" | "taken" | "open" };

/** The outcomes that a store records in one transaction. */
export interface SettleInput {
  readonly key: string;
  readonly fence: number;
  /** Any number; the dispatcher sends about 1,000. An `ord` twice in one call: the first counts. */
  readonly items: readonly Settlement[];
  /** A delivery is made for each of these and each new outcome. */
  readonly sinks: readonly string[];
  /**
   * Payload of a request that would be requeued but whose cancel has been asked for, and the code
   * of its error.
   */
  readonly cancelledPayload: string;
  readonly cancelledCode: string;
  readonly now: number;
}

/** What was recorded, and what had been before. */
export type SettleResult =
  | {
      readonly ok: true;
      readonly applied: number;
      /** Items whose `ord` is no open member: late, repeated or never there. */
      readonly ignored: number;
      readonly remaining: number;
    }
  | { readonly ok: false; readonly reason: "fence" };

/** A change that an operator makes to requests or batches. */
export type Amendment =
  /** `code`: of the payload's error, here and below. */
  | { readonly kind: "cancel"; readonly ids: readonly string[]; readonly payload: string; readonly code: string }
  | { readonly kind: "fail"; readonly ids: readonly string[]; readonly payload: string; readonly code: string }
  | { readonly kind: "expire"; readonly limit: number; readonly payload: string; readonly code: string }
  | {
      readonly kind: "move";
      readonly lane: string;
      /** The lane that they wait in from then on. */
      readonly to: string;
      /** Only requests whose deadline comes before. */
      readonly before: number;
      readonly limit: number;
    }
  /**
   * `lanes`: where each of them waits from then on; `corrections`: its new body. Both in the order
   * of `ids`.
   */
  | {
      readonly kind: "retry";
      readonly ids: readonly string[];
      readonly lanes: readonly string[];
      readonly corrections?: readonly Correction[];
    }
  | { readonly kind: "hasten"; readonly after: number }
  /** `after`: a cursor. */
  | { readonly kind: "redeliver"; readonly sink: string; readonly after: number; readonly limit: number };

/** What an amendment has changed. */
export interface Amended {
  readonly id: string;
  readonly result: "changed" | "requested" | "ended" | "waiting" | "not_found";
}

/** Which deliveries a store claims, and until when. */
export interface DeliveriesInput {
  readonly now: number;
  readonly reports: readonly DeliveryReport[];
  /** Take up to `limit` due deliveries of these sinks until `leaseUntil`; null only reports. */
  readonly take: { readonly sinks: readonly string[]; readonly limit: number; readonly leaseUntil: number } | null;
}

/** Where requests live. See the head of the file for the rules that hold for every method. */
export interface Store {
  /** The last loss that this store has found; null or absent while there was none. */
  readonly setBack?: DispatchError | null;

  /**
   * What the store has found last in the settings of its server that can lose data; null or absent
   * where it found nothing. `STORE_EVICTS`: no dispatcher is to start on it. `STORE_AT_RISK`: it is
   * only reported. The same object as long as nothing changes.
   */
  readonly risk?: DispatchError | null;

  /**
   * The time of the store's own clock, in epoch ms. Leases of all processes go by it. Absent where
   * the store has none but that of its process.
   */
  now?(): Promise<number>;

  /**
   * Adds requests, in order, as ready. One answer each, in order: `stored`; `same` when the id is
   * there with the same digest, in whatever state (nothing changes, not even defaults or priority);
   * `conflict` when it is there with another digest (nothing changes; the other items of the call
   * are stored all the same). The same holds for an id twice in one call. Ids are unique in the
   * whole store.
   */
  enqueue(requests: readonly NewRequest[], now: number): Promise<readonly EnqueueResult[]>;

  /**
   * Changes requests from outside their batch; one answer per id, in order. `cancel`: ready ->
   * ended as `cancelled` with the payload (`changed`); claimed -> its `cancelRequested` is set and
   * its batch's `cancelRequested` count grows once (`requested`); ended stays (`ended`). `fail`:
   * ready -> ended as `failed` (`changed`); claimed stays (`waiting`); ended stays (`ended`).
   * `expire`: up to `limit` ready requests with `deadlineAt <= now`, earliest deadline first, end
   * as `expired`; answers only these. `move`: up to `limit` ready requests of `lane` with
   * `deadlineAt < before`, earliest deadline first, become ready in lane `to`, and keep all else,
   * `notBefore` too; answers only these (`changed`). Nothing of the history grows. `retry`: ended,
   * not succeeded -> ready in its lane of `lanes` with attempts 0, generation + 1, `notBefore` now,
   * no deadline, no cancel wish; its outcome leaves the log and its undelivered deliveries are
   * dropped (`changed`). Succeeded stays (`ended`); ready or claimed stays (`waiting`). With
   * `corrections`, body, bytes and tokens become those given, and an `enqueue` with the old digest
   * or the new one is `same` from then on (contract/digests.ts). The ending stays as a history row
   * (its batch, its code or else its status, its time), so its batch stays until the request is
   * pruned; of several endings while it waited, the last. `hasten`: every time later than `after`
   * at which something of the future would happen becomes `now`, also where somebody holds it:
   * notBefore of ready requests; nextAt, leaseUntil, submitStartedAt, unknownSince and releaseAt
   * (where one is given) of batches that are not done; nextAt of waiting deliveries; blockedUntil
   * of ledgers. No fence changes. Answers nothing. A process whose clock was ahead has written such
   * times. `redeliver`: up to `limit` dead deliveries to the sink of outcomes with a cursor above
   * `after`, lowest cursor first, wait again, due now, with their attempts so far; answers the ids
   * of these requests (`changed`). What ends here gets cursor and deliveries exactly as in
   * `settle`, in the same transaction.
   */
  amend(change: Amendment, sinks: readonly string[], now: number): Promise<readonly Amended[]>;

  /**
   * What there is to do. Lanes with no ready request are left out. A lane's figures cover its ready
   * requests with `notBefore <= now`. A store may stop after the first `limit` of them in claim
   * order; where there are so many, it may look at the first 1,000 only, answer `limit` as `ready`,
   * and multiply their bytes and tokens. Fewer than `limit` are exact. Processes probe often:
   * however many wait, a call should take a few milliseconds. Writes nothing.
   */
  probe(limit: number, now: number): Promise<Probe>;

  /**
   * Forms one batch in one transaction: claims the longest prefix, in claim order, of the lane's
   * ready requests with `notBefore <= now` and (no deadline or `deadlineAt > now`) that keeps to
   * maxRequests, maxBytes and maxTokens AND to what the ledger has left; gives them `ord` 0, 1, 2,
   * ...; inserts the batch as `sealed` with fence 1, leased to `owner`; books the reservation. A
   * prefix: nothing is skipped to fit a smaller request in. Left on the ledger = limits minus the
   * sums of reservations that are not released at `now`. Two seals on one ledger never overshoot it
   * together, and no request is ever claimed twice. Refusals write nothing: `blocked` (ledger's
   * `blockedUntil > now`), `empty`, `no_headroom` (the head fits the caps but not the ledger, or no
   * batch or request is left on it), `head_too_large` (the head alone breaks a cap), `too_few`
   * (what fits is less than minRequests), looked for in this order.
   */
  seal(input: SealInput): Promise<SealResult>;

  /**
   * Takes up to `limit` batches whose lease is free (`leaseUntil <= freeAt`), that have not ended
   * (state other than `done` and `quarantined`) and are due (`nextAt <= now`), the longest due
   * first: sets owner and leaseUntil, adds 1 to fence, answers the rows. With `keys`: these batches
   * if their lease is free, whatever state and nextAt. Two callers never get the same batch with
   * the same fence.
   */
  lease(input: LeaseInput): Promise<readonly BatchRow[]>;

  /**
   * The one write on a batch's own row: sets the fields given in `changes`, leaves the others, sets
   * updatedAt, and writes the ledgers and orphans that come with it in the same transaction. It is
   * atomic with its checks, in this order: `fence`; `busy` when `changes.exclusive` and another
   * batch of the account is `submitting` or `unknown`; `taken` when `providerBatchId` is the id of
   * record of another batch of the account; `open` when the new state is `done` while
   * `remaining > 0`. It does not know which transitions are legal: decide/batch/life-cycle.ts does.
   * Entering `done` releases the reservation at `changes.releaseAt`, or at `now` when that is
   * absent.
   */
  transition(key: string, fence: number, changes: BatchChanges, now: number): Promise<TransitionResult>;

  /**
   * Reads requests: by ids (those that exist, in the order asked), or members of a batch by
   * ascending `ord` from `fromOrd`, at most `limit`. Members are found by (batch, ord) as long as
   * they are claimed by it; what has been settled is no longer listed. Bodies and history only when
   * asked for.
   */
  requests(query: RequestQuery): Promise<readonly RequestRow[]>;

  /**
   * Applies decisions about open members of a batch, all in one transaction with their log entries
   * and deliveries. `final`: the request ends with status and payload; attempts grows by 1 if
   * charged; an outcome is written with the next cursor; one delivery per sink is due at `now`.
   * `requeue`: back to ready in `lane` with `notBefore`, out of the batch; attempts grows by 1 if
   * charged; a history row (batch key, code, now) is added. If its cancel was asked for, it ends as
   * `cancelled` with `cancelledPayload` instead. Both lower `remaining` (and `cancelRequested`, if
   * it was set). An `ord` that is not an open member changes nothing and is counted in `ignored`.
   * Cursors: whole numbers from 1, given in order of commit: a reader of cursor c can never later
   * see a new one below c. A store with concurrent writers takes them from one counter row that the
   * transaction locks until it commits, as its last statements; never from a sequence. `retry`
   * leaves gaps, nothing else does.
   */
  settle(input: SettleInput): Promise<SettleResult>;

  /**
   * Reads outcomes: with cursor above `after`, ascending, at most `limit`; or of these ids (those
   * that have one). With `job`, only its own, and no call walks over those of others.
   */
  outcomes(query: OutcomeQuery): Promise<readonly OutcomeRow[]>;

  /**
   * First books the reports, then takes due deliveries (`nextAt <= now`, not delivered, not dead;
   * oldest cursor first): each taken one gets attempt + 1 and `nextAt = leaseUntil`, so that it is
   * due again if its process dies. A report adds a log row; it changes the delivery's state and
   * `nextAt` only if its attempt is the present one, or if it says `delivered`. Delivered is final.
   * A repeated report (same cursor, sink, attempt) changes nothing.
   */
  deliveries(input: DeliveriesInput): Promise<readonly DeliveryRow[]>;

  /**
   * Reads batches, newest first (by createdAt, then key), orphans included. All given filters must
   * match.
   */
  batches(query: BatchQuery): Promise<readonly BatchRow[]>;

  /**
   * Finds requests that match, in order of arrival. A call may stop early, after it has looked at a
   * bounded number that do not match: a page then has fewer rows than `limit` and still a `next`.
   * What `match` gives alone, but for a tenant, is found without a look at other requests. Requests
   * that move meanwhile are seen as they are when their page is read.
   */
  find(query: FindQuery): Promise<FindResult>;

  /**
   * Reads the sums, of one tenant or job where given ("" is one of either), in any order. See the
   * head of the file.
   */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;

  /**
   * Makes each change whose `expected` holds, in order, in one transaction; answers all marks then,
   * by name.
   */
  marks(changes: readonly MarkChange[], now: number): Promise<readonly MarkRow[]>;

  /**
   * Goes over the outcomes, those of lower cursors first. Of each that was recorded at or before
   * `before`, has one of the `statuses` and no delivery that waits, it deletes the outcome with its
   * deliveries and their log, and the request with its body and history; id and digest stay. At
   * most `limit` a call, fewer where these are large: a call never holds others up for long. Then
   * takes away up to `limit` batches, with their orphans, that are done, released and free of
   * leases at `now`, last written at or before `batchesBefore`, and whose members are all gone. At
   * the end it forgets the tombstones of requests that were pruned at or before `tombstonesBefore`:
   * such an id is as if it had never been, and those that an earlier version of the store has left
   * without a time count as old. No count is lowered: neither the probe's nor those of `usage`; no
   * cursor is given out again. `next` is null once all such batches and tombstones are gone, and
   * the log's end was reached or outcomes none of which is old enough: they are recorded nearly in
   * order of time. A store may want more calls, to give space back: each brings the end nearer.
   * What it deletes in several transactions is gone for every other call with the first of them.
   */
  prune(input: PruneInput): Promise<PruneStep>;

  /**
   * Frees what the store itself opened, never what the user passed in. Idempotent; later calls
   * reject with CLOSED.
   */
  close(): Promise<void>;
}

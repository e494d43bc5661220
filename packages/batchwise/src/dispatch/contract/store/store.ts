// The store contract: seventeen methods that hold every durable fact of the dispatcher. The
// conformance suite checks each rule below; anything else is the store's choice. calls.ts has the
// argument and result types, rows.ts and the files beside it have the rows.
//
// Rules for all methods:
// - One call is one transaction: when it resolves, all of it is durable; when it rejects, all or
//   none of it happened and the caller repeats it. So every write is idempotent: a repetition with
//   the same arguments changes nothing more. A store prepares itself (tables, scripts) on its first
//   call.
// - A store uses no clock and no random numbers: `now`, keys and owners are arguments. It never
//   parses a body, a payload, a lane's name or `disposal`: these are opaque texts.
// - Writes on a batch carry its `fence`, the number of `seal` (1) or of its last `lease`. Any other
//   number, or an unknown key, changes nothing and answers `{ ok: false, reason: "fence" }`. An
//   expired lease that no process took has the current fence: its writes count.
// - Bodies, payloads and history are stored apart from the small row that claims scan. No method
//   gets slower with many ended requests. Only `requests` (with bodies), `outcomes` and
//   `deliveries` read large texts.
// - Calls come from many processes at once (memory and embedded stores: from one process,
//   interleaved).
// - Failures reject with a DispatchError: STORE_UNAVAILABLE, STORE_READ_ONLY of a server
//   (retryable); STORE_FULL, STORE_READ_ONLY of a file, STORE_FORBIDDEN, STORE_SCHEMA,
//   STORE_DAMAGED (not).
// - A store whose data can be emptied or set back while processes run (a Redis server) detects a
//   loss of any write that it has confirmed to this process. All calls begun before the detection
//   then do nothing and reject with one STORE_SET_BACK, which becomes its `setBack`; later calls
//   work on the remaining data.
//
// The dispatcher guarantees to a store, whatever a provider or callback returns:
// - Texts in writes have no NUL character and no half of a surrogate pair. Texts to search for may
//   have both (`usage`, `find`, `outcomes`, `requests`, `batches`, the ids of `amend`, the keys of
//   `lease`): they match nothing. An enqueue that a store cannot hold is refused whole, with
//   INVALID_REQUEST.
// - Codes have at most 256 UTF-16 units; provider ids and states, notes, names of marks and errors
//   of deliveries 2,000; texts inside `lastError` and `disposal` 20,000 each.
// - Token counts of an ending are whole numbers from 0 to 1,000,000,000, so that sums are exact.
//   Other counts, bytes and tokens are whole numbers up to 2^53. Times and limits may have
//   fractions; limits may be Infinity.
//
// Request states: ready -> claimed -> ended, and claimed -> ready on a requeue. A claimed request
// belongs to one batch until `settle` decides it; no lease, timeout or other call removes it. An
// ended request has exactly one outcome.
//
// Pruning leaves a tombstone (id and digests) until `prune` deletes that too: `enqueue` compares
// with it, `requests` shows it on demand, and all other calls ignore it. A member of a batch is
// deleted when it is pruned or, after it ended in the batch, retried without a correction. Until
// then the batch stays, because outcomes and histories name it.
//
// Claim order inside a lane: priority descending, rank ascending, arrival ascending. The rank is
// set once, at enqueue, and shares a lane by tokens among tenants (start-time fair queueing):
//   rank = max(V, F); F = rank + max(1, tokens)
// with F per (lane, priority, tenant) and V per (lane, priority): the highest rank that `seal` has
// claimed there, both 0 at first. A single tenant gets plain FIFO. Two concurrent enqueues may read
// the same F. A requeued or retried request keeps its rank and arrival, also in another lane. V
// need not be kept for lanes without enqueues (halves of a split batch), nor an F not above its V:
// neither changes a rank.
//
// Usage: a row per (tenant, job, lane) with any count. In the transaction of each change, `enqueue`
// and `retry` add 1 to `requests` if the request has a job (without one nothing is counted, so that
// concurrent enqueues share no row), and every ending adds 1 to `ended` of its status, and its
// tokens. The lane is that of the request or of its batch, without the group (`laneProper` of
// lanes.ts), because counts never decrease and a row per part of a split batch would stay for ever.

import type { DispatchError } from "../errors.ts";
import type {
  Amended,
  Amendment,
  DeliveriesInput,
  EnqueueResult,
  LeaseInput,
  SealInput,
  SealResult,
  SettleInput,
  SettleResult,
  TransitionResult,
} from "./calls.ts";
import type { MarkChange, MarkRow } from "./ledger-rows.ts";
import type { DeliveryRow, OutcomeQuery, OutcomeRow } from "./outcome-rows.ts";
import type { PayerChange, PayerRow } from "./payers.ts";
import type { Probe } from "./probe.ts";
import type { PruneInput, PruneStep } from "./pruning.ts";
import type {
  BatchChanges,
  BatchQuery,
  BatchRow,
  FindQuery,
  FindResult,
  NewRequest,
  RequestQuery,
  RequestRow,
  UsageQuery,
  UsageRow,
} from "./rows.ts";

/** The store of all requests. The top of this file has the rules for every method. */
export interface Store {
  /** The last detected loss of data; null or absent if there was none. */
  readonly setBack?: DispatchError | null;

  /**
   * A risk of data loss in the server's settings; null or absent if there is none. `STORE_EVICTS`:
   * no dispatcher may start. `STORE_AT_RISK`: only reported. The same object until it changes.
   */
  readonly risk?: DispatchError | null;

  /**
   * The time of the store's own clock, in ms since 1970. Leases of all processes use it. Absent if
   * the store has only its process's clock.
   */
  now?(): Promise<number>;

  /**
   * Adds requests, in order, as ready. One answer each, in order: `stored`; `same` if the id exists
   * with the same digest in any state (nothing changes, not even defaults or priority); `conflict`
   * if it exists with another digest (nothing changes; the other items are stored). This also holds
   * for a repeated id in one call. Ids are unique in the whole store.
   */
  enqueue(requests: readonly NewRequest[], now: number): Promise<readonly EnqueueResult[]>;

  /**
   * Changes requests from outside their batch; one answer per id, in order.
   * - `cancel`: ready -> ended as `cancelled` with the payload (`changed`); claimed -> its
   *   `cancelRequested` is set and its batch's `cancelRequested` count grows once (`requested`);
   *   ended stays (`ended`).
   * - `fail`: ready -> ended as `failed` (`changed`); claimed stays (`waiting`); ended stays
   *   (`ended`).
   * - `expire`: up to `limit` ready requests with `deadlineAt <= now`, earliest deadline first, end
   *   as `expired`; answers only these.
   * - `move`: up to `limit` ready requests of `lane` with `deadlineAt < before`, earliest deadline
   *   first, become ready in lane `to`; without `before` any, in claim order. All else stays, also
   *   `notBefore` and history; answers only these (`changed`).
   * - `retry`: ended, not succeeded -> ready in its lane of `lanes` with attempts 0, generation +
   *   1, `notBefore` now, no deadline, no pending cancel; its outcome leaves the log and its
   *   undelivered deliveries are dropped (`changed`). Succeeded stays (`ended`); ready or claimed
   *   stays (`waiting`). With `corrections`, body, bytes and tokens are replaced, turns dropped,
   *   and an `enqueue` with the old or the new digest is `same` from then on
   *   (contract/store/digests.ts). The ending becomes a history row (its batch, its code or else
   *   status, its time), so its batch stays until the request is pruned; of several endings while
   *   it waited, the last.
   * - `hasten`: every future time later than `after` becomes `now`, also under a lease: notBefore
   *   of ready requests; nextAt, leaseUntil, submitStartedAt, unknownSince and releaseAt (if set)
   *   of batches that are not done; nextAt of waiting deliveries; blockedUntil of ledgers. A clock
   *   that was ahead has written such times. No fence changes. Answers nothing.
   * - `redeliver`: up to `limit` dead deliveries to the sink, of outcomes with a cursor above
   *   `after`, lowest first, wait again, due now, with their attempts so far; answers the ids
   *   of these requests (`changed`).
   *
   * An ended request gets cursor and deliveries as in `settle`, in the same transaction.
   */
  amend(change: Amendment, sinks: readonly string[], now: number): Promise<readonly Amended[]>;

  /**
   * Returns the pending work, without lanes that have no ready request. A lane's figures cover its
   * ready requests with `notBefore <= now`. A store may stop after the first `limit` of them in
   * claim order; if there are that many, it may read only the first 1,000, answer `limit` as
   * `ready`, and extrapolate bytes and tokens. Fewer than `limit` are exact. Called often: it
   * should take a few ms for any number of waiting requests. Writes nothing.
   */
  probe(limit: number, now: number): Promise<Probe>;

  /**
   * Forms one batch in one transaction: claims the longest prefix, in claim order, of the lane's
   * ready requests with `notBefore <= now` and (no deadline or `deadlineAt > now`) within
   * maxRequests, maxBytes, maxTokens AND the ledger's remainder; gives them `ord` 0, 1, 2, ...;
   * inserts the batch as `sealed` with fence 1, leased to `owner`; books the reservation. No
   * request is skipped to fit a smaller one. The remainder is the limits minus the reservations not
   * released at `now`. Two seals never overshoot a ledger together, and no request is claimed
   * twice. Refusals write nothing. They are checked in this order: `blocked` (ledger's
   * `blockedUntil > now`), `empty`, `no_headroom` (the head fits the caps but not the ledger, or no
   * batch or request is left on it), `head_too_large` (the head breaks a cap), `price_limit`
   * (minRequests wait, and the first minRequests cost more than a payer has left: no more of them
   * are read, because this is tried often), `too_few` (fewer than minRequests fit). With `payers`,
   * the prefix also fits each payer's remainder: limit minus spent minus reserved, 0 for an unknown
   * payer.
   */
  seal(input: SealInput): Promise<SealResult>;

  /**
   * Leases up to `limit` batches with a free lease (`leaseUntil <= freeAt`) that have not ended
   * (state other than `done` and `quarantined`) and are due (`nextAt <= now`), the longest due
   * first: sets owner and leaseUntil, adds 1 to fence, returns the rows. With `keys`: these batches
   * if their lease is free, in any state and at any nextAt. Two callers never get the same batch
   * with the same fence.
   */
  lease(input: LeaseInput): Promise<readonly BatchRow[]>;

  /**
   * The one write on a batch's own row: sets the fields of `changes` and updatedAt, and writes its
   * ledgers and orphans in the same transaction. Checks atomically, in this order: `fence`; `busy`
   * if `changes.exclusive` and another batch of the account is `submitting` or `unknown`; `taken`
   * if `providerBatchId` is the id of record of another batch of the account; `open` if the new
   * state is `done` and `remaining > 0`. Does not check whether the transition is legal:
   * batches/life-cycle.ts does. Entering `done` releases the reservation at
   * `changes.releaseAt`, by default at `now`.
   */
  transition(key: string, fence: number, changes: BatchChanges, now: number): Promise<TransitionResult>;

  /**
   * Reads requests: existing ones by ids, in the given order, or members of a batch by ascending
   * `ord` from `fromOrd`, at most `limit`. Members are listed while they are claimed, not after
   * they are settled. Bodies and history only on demand.
   */
  requests(query: RequestQuery): Promise<readonly RequestRow[]>;

  /**
   * Applies decisions about open members of a batch, in one transaction with log entries and
   * deliveries. `final`: the request ends with status and payload; an outcome is written with the
   * next cursor; one delivery per sink is due at `now`. `requeue`: back to ready in `lane` with
   * `notBefore`, out of the batch, with a history row (batch key, code, now), and with the turns,
   * bytes and tokens of `appended` if it is given; with a pending cancel it ends as `cancelled`
   * with `cancelledPayload` instead. Both add 1 to attempts if charged, and lower `remaining` (and
   * `cancelRequested`, if it was set). An `ord` that is no open member changes nothing and counts
   * in `ignored`. Cursors are whole numbers from 1 in commit order: a reader of cursor c never
   * later sees a new one below c. A store with concurrent writers takes them from one counter row,
   * which the transaction locks until it commits, in its last statements; never from a sequence.
   * Only `retry` leaves gaps.
   */
  settle(input: SettleInput): Promise<SettleResult>;

  /**
   * Reads outcomes: with a cursor above `after`, ascending, at most `limit`; or existing ones of
   * these ids. With `job`, only outcomes of that job, without scanning others.
   */
  outcomes(query: OutcomeQuery): Promise<readonly OutcomeRow[]>;

  /**
   * First writes the reports, then takes due deliveries (`nextAt <= now`, not delivered, not dead;
   * oldest cursor first): each gets attempt + 1 and `nextAt = leaseUntil`, so that it is due again
   * after a crash. A report adds a log row. It changes the delivery's state and `nextAt` only if
   * its attempt is the current one or it says `delivered`, which is final. A repeated report (same
   * cursor, sink, attempt) changes nothing.
   */
  deliveries(input: DeliveriesInput): Promise<readonly DeliveryRow[]>;

  /**
   * Reads batches, newest first (by createdAt, then key), with orphans. All given filters must
   * match.
   */
  batches(query: BatchQuery): Promise<readonly BatchRow[]>;

  /**
   * Finds matching requests in arrival order. A call may stop after a bounded number of other
   * requests: a page then has fewer rows than `limit` and still a `next`. A `match` of a single
   * field, except a tenant, is found without reading other requests. Requests that change meanwhile
   * are seen as their page is read.
   */
  find(query: FindQuery): Promise<FindResult>;

  /**
   * Reads the sums, of one tenant or job if given ("" is one of them), in any order. See the top of
   * the file.
   */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;

  /**
   * Makes each change whose `expected` holds, in order, in one transaction. Returns all marks, by
   * name.
   */
  marks(changes: readonly MarkChange[], now: number): Promise<readonly MarkRow[]>;

  /**
   * Sets limits, in order, in one transaction. Returns the known payers of these names, and of the
   * changes, in any order.
   */
  payers(changes: readonly PayerChange[], names: readonly string[]): Promise<readonly PayerRow[]>;

  /**
   * Prunes outcomes, lowest cursor first. For each that was recorded at or before `before`, has one
   * of the `statuses` and no waiting delivery, deletes the outcome with deliveries and log, and the
   * request with body and history; id and digest stay. At most `limit` per call, fewer if they are
   * large, so that it never blocks others for long. Then deletes up to `limit` batches with their
   * orphans that are done, released and unleased at `now`, last written at or before
   * `batchesBefore`, and whose members are all deleted. At the end deletes tombstones of requests
   * pruned at or before `tombstonesBefore`: such an id is unknown again; tombstones of earlier
   * versions without a time count as old. Lowers no count of probe or `usage` and reuses no cursor.
   * `next` is null once all such batches and tombstones are deleted, and the log's end or the first
   * outcomes that are too recent are reached (outcomes are nearly in time order). A store may need
   * more calls, each of which makes progress. Rows that it deletes in several transactions are gone
   * for all other calls after the first.
   */
  prune(input: PruneInput): Promise<PruneStep>;

  /**
   * Frees resources that the store itself opened, never the user's. Idempotent; later calls reject
   * with CLOSED.
   */
  close(): Promise<void>;
}

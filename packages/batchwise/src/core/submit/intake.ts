// The way from a submit to the queue: which path an item takes, and what becomes of one that is refused on the way.
// Most items need nothing but their place, a cost, a tenant, a priority and a deadline, and take the short path.

import { BatchwiseError, closedError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import { oneEach } from "../contract/resolve-options.ts";
import type { SubmitOptions } from "../contract/types.ts";
import type { Addressee, Sink } from "../queue/recipient.ts";
import type { Stages } from "../run/handler.ts";
import type { Turn } from "../time/turn.ts";
import type { Admission } from "./admission.ts";
import { type Desk, refuse, Ticket } from "./callers.ts";
import type { Shortcuts } from "./fast-path.ts";
import { type Registry, scopeOf } from "./in-flight.ts";
import {
  checkSubmitOptions,
  costOf,
  dedupeKeyOf,
  Entry,
  keyOf,
  readItem,
  refuseOversize,
  tenantOf,
} from "./read-item.ts";

export class Intake {
  readonly #desk: Desk;
  readonly #turn: Turn;
  readonly #admission: Admission;
  readonly #shortcuts: Shortcuts;
  readonly #registry: Registry;
  readonly #prepareItem: Stages["prepareItem"];
  readonly #isPlain: boolean;
  /** True when every item costs 1. */
  readonly isUniform: boolean;
  isClosed = false;

  constructor(desk: Desk, turn: Turn, admission: Admission, registry: Registry, stages: Stages) {
    this.#desk = desk;
    this.#turn = turn;
    this.#admission = admission;
    this.#shortcuts = admission.shortcuts;
    this.#registry = registry;
    this.#prepareItem = stages.prepareItem;
    this.#isPlain = isPlain(stages, admission.options);
    this.isUniform = admission.options.cost === oneEach;
  }

  /** Takes an item in. Never throws: what goes wrong goes to the answer. */
  accept(item: unknown, submit: SubmitOptions | undefined, sink: Sink, position: number, isSmall: boolean): void {
    if (this.#isPlain && !this.isClosed) {
      if (submit === undefined) {
        this.#acceptPlain(item, 0, undefined, sink, position);
        return;
      }
      try {
        // Each is read once: a getter may throw, or say something else the next time.
        const { signal, cost, key, context, priority = 0, timeoutMs } = submit;
        const isBare = signal === undefined && cost === undefined && key === undefined && context === undefined;
        if (isBare && isPlainObject(submit) && Number.isFinite(priority) && isTimeout(timeoutMs)) {
          this.#acceptPlain(item, priority, timeoutMs, sink, position);
          return;
        }
      } catch {
        // Told below, where it is read again.
      }
    }
    this.#acceptAny(item, submit, sink, position, isSmall);
  }

  /** The hot path: an item that needs nothing but its place in the queue, its cost, tenant, priority and deadline. */
  #acceptPlain(item: unknown, priority: number, timeoutMs: number | undefined, sink: Sink, position: number): void {
    const { options } = this.#admission;
    let cost = 1;
    if (!this.isUniform) {
      try {
        cost = costOf(item, options);
      } catch (error) {
        this.#desk.tally.submitted += 1;
        this.#refuse(error, sink, position);
        return;
      }
    }
    // No shortcut is open once the batcher has closed or where tenants take turns, nor to what is over the cap itself.
    if (isEndless(timeoutMs, options) && this.#shortcuts.add(priority, item, sink, position, cost)) return;
    this.#acceptByItself(item, cost, priority, timeoutMs ?? options.timeoutMs, sink, position);
  }

  /** Where no shortcut is open to such an item: the first of a turn, mostly. */
  #acceptByItself(
    item: unknown,
    cost: number,
    priority: number,
    timeoutMs: number,
    sink: Sink,
    position: number,
  ): void {
    const { options } = this.#admission;
    let tenant = "";
    this.#desk.tally.submitted += 1;
    try {
      if (options.fairBy !== undefined) tenant = tenantOf(item, options);
      if (this.isClosed) throw closedError();
      if (cost > options.maxBatchCost) refuseOversize(item, cost, options);
    } catch (error) {
      this.#refuse(error, sink, position);
      return;
    }
    if (this.#admission.hasRoom) {
      this.#admission.acceptPlain(tenant, item, sink, position, cost, priority, timeoutMs);
      return;
    }
    const entry = new Entry(sink, position, this.#turn.time(), false);
    entry.endAfter(this.#desk.clock, timeoutMs);
    this.#admission.accept(Object.assign(entry, { item, tenant, cost, priority }));
  }

  #refuse(error: unknown, sink: Sink, position: number): void {
    refuse(this.#desk, { sink, position, time: this.#turn.time() }, error, refusalOf(error));
  }

  #acceptAny(item: unknown, submit: SubmitOptions | undefined, sink: Sink, position: number, isSmall: boolean): void {
    this.#desk.tally.submitted += 1;
    const entry = new Entry(sink, position, this.#turn.time(), isSmall);
    try {
      if (submit !== undefined && !this.isClosed) checkSubmitOptions(submit);
      this.#checkStillWanted(submit);
      if (this.#admission.options.dedupe !== undefined) this.#acceptShared(entry, item, submit);
      else this.#acceptOne(entry, item, submit);
    } catch (error) {
      if (error instanceof Aborted) refuse(this.#desk, entry, error.reason, "cancelled");
      else refuse(this.#desk, entry, error, refusalOf(error));
    }
  }

  #acceptOne(entry: Entry, item: unknown, submit: SubmitOptions | undefined): void {
    const { options } = this.#admission;
    entry.key = keyOf(item, options, submit);
    readItem(entry, item, options, submit, this.#prepareItem);
    const timeoutMs = submit?.timeoutMs ?? options.timeoutMs;
    if (submit?.signal === undefined) entry.endAfter(this.#desk.clock, timeoutMs);
    else entry.sink = this.#ticket(entry, timeoutMs, submit);
    this.#checkStillWanted(submit);
    this.#admission.accept(entry);
  }

  /** The user's functions have been called: they may have closed the batcher or aborted the signal. */
  #checkStillWanted(submit: SubmitOptions | undefined): void {
    if (this.isClosed) throw closedError();
    if (submit?.signal?.aborted) throw new Aborted(submit.signal.reason);
  }

  #ticket(answer: Addressee, timeoutMs: number, submit: SubmitOptions | undefined): Ticket {
    return new Ticket(this.#desk, answer, timeoutMs, submit?.signal);
  }

  /** Joins the place of an equal item, or opens one: looked up in the cache first, queued on a miss. */
  #acceptShared(entry: Entry, item: unknown, submit: SubmitOptions | undefined): void {
    const { options } = this.#admission;
    const dedupe = options.dedupe as NonNullable<typeof options.dedupe>;
    const cacheKey = dedupeKeyOf(dedupe, item);
    entry.key = keyOf(item, options, submit);
    const scope = scopeOf(entry.key, cacheKey);
    const timeoutMs = submit?.timeoutMs ?? options.timeoutMs;
    if (this.#joinEqual(entry, scope, timeoutMs, submit)) return;
    readItem(entry, item, options, submit, this.#prepareItem);
    this.#checkStillWanted(submit);
    // What was called may have submitted an equal item.
    if (this.#joinEqual(entry, scope, timeoutMs, submit)) return;
    const ticket = this.#ticket(entry, timeoutMs, submit);
    const shared = this.#registry.open(scope, cacheKey);
    entry.sink = shared;
    shared.join(ticket);
    this.#registry.lookUp(scope, shared, () => {
      entry.time = this.#turn.time();
      this.#admission.accept(entry);
    });
  }

  #joinEqual(entry: Entry, scope: string, timeoutMs: number, submit: SubmitOptions | undefined): boolean {
    const known = this.#registry.find(scope);
    if (known === undefined) return false;
    this.#checkStillWanted(submit);
    known.join(this.#ticket(entry, timeoutMs, submit));
    this.#desk.tally.deduped += 1;
    return true;
  }
}

/** Thrown on the way in for a caller whose signal has aborted. */
class Aborted {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/** True when an item has no deadline. Compares without reading the option into a variable, where V8 would box it. */
function isEndless(timeoutMs: number | undefined, options: ResolvedOptions): boolean {
  if (timeoutMs === undefined) return options.timeoutMs === Number.POSITIVE_INFINITY;
  return timeoutMs === Number.POSITIVE_INFINITY;
}

function isPlainObject(submit: SubmitOptions): boolean {
  return typeof submit === "object" && !Array.isArray(submit);
}

/** True for none, and for one that is no mistake; what is due at once takes the long path. */
function isTimeout(timeoutMs: unknown): boolean {
  return timeoutMs === undefined || (typeof timeoutMs === "number" && timeoutMs > 0);
}

/** True when no option asks for more of an item than its cost, its tenant, its priority and its deadline. */
function isPlain(stages: Stages, options: ResolvedOptions): boolean {
  const functions = [options.key, options.dedupe, options.captureContext, stages.prepareItem];
  return (
    functions.every((option) => option === undefined) &&
    typeof options.batchCost !== "function" &&
    options.smallCallFirst === 0
  );
}

/** CLOSED and ITEM_TOO_LARGE are the batcher's refusals; everything else thrown on the way in is a user function's failure. */
function refusalOf(error: unknown): "rejected" | "failed" {
  const isOurs = error instanceof BatchwiseError && (error.code === "CLOSED" || error.code === "ITEM_TOO_LARGE");
  return isOurs ? "rejected" : "failed";
}

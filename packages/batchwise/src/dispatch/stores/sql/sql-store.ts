// The common base of SQL stores: shared operations, tracking of open calls until close, and group
// commits of concurrent single enqueues, gathered by batchwise's own engine. A store adds the
// operations that carry the load, and how statements run.

import { bindMethods } from "../../../core/contract/bind-methods.ts";
import type { Batcher } from "../../../core/contract/types.ts";
import { createBatcher } from "../../../makers/batch.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import type { Store } from "../../contract/store/store.ts";
import { amend } from "./amend.ts";
import { findBatches, lease, transition } from "./batches.ts";
import { deliver } from "./deliveries.ts";
import type { Dialect } from "./dialect.ts";
import { changeMarks } from "./ledgers.ts";
import { readOutcomes } from "./outcomes.ts";
import { changePayers } from "./payers.ts";
import { findRequests, readRequests } from "./requests.ts";
import { settle } from "./settle.ts";
import type { Steps } from "./steps.ts";
import { readUsage } from "./usage.ts";

/** Maximum calls, and maximum requests, per commit. */
const GROUP_CALLS = 1_000;
const GROUP_REQUESTS = 2_000;
/** A request of more bytes counts as several, so that a full group stays at about 32 MB. */
const GROUP_REQUEST_BYTES = 16_000;

export interface EnqueueCall {
  readonly requests: readonly NewRequest[];
  readonly now: number;
}

export abstract class SqlStore {
  readonly #dialect: Dialect;
  readonly #intake: Batcher<EnqueueCall, readonly EnqueueResult[]>;
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#intake = createBatcher((calls: EnqueueCall[]) => this.enqueueTogether(calls), {
      maxBatchSize: GROUP_CALLS,
      maxBatchCost: GROUP_REQUESTS,
      cost: ({ requests }) => requests.reduce((sum, { bytes }) => sum + 1 + Math.floor(bytes / GROUP_REQUEST_BYTES), 0),
      oversize: "alone",
    });
    bindMethods(this);
  }

  /** All calls in one transaction. */
  protected abstract enqueueTogether(calls: readonly EnqueueCall[]): Promise<EnqueueResult[][]>;

  /** In one read-only transaction, on one snapshot of the data. */
  protected abstract read<Result>(steps: Steps<Result>): Promise<Result>;

  /** In one transaction: whole and durable when it resolves, or not at all. */
  protected abstract write<Result>(steps: Steps<Result>): Promise<Result>;

  /** Frees resources that the store has opened. */
  protected abstract release(): void;

  async enqueue(requests: readonly NewRequest[], now: number): Promise<readonly EnqueueResult[]> {
    this.#assertOpen();
    return this.#intake.submit({ requests, now });
  }

  readonly amend: Store["amend"] = async (change, sinks, now) => this.write(amend(this.#dialect, change, sinks, now));

  readonly lease: Store["lease"] = async (input) => this.write(lease(this.#dialect, input));

  readonly settle: Store["settle"] = async (input) => this.write(settle(this.#dialect, input));

  readonly deliveries: Store["deliveries"] = async (input) => this.write(deliver(this.#dialect, input));

  readonly transition: Store["transition"] = async (key, fence, changes, now) =>
    this.write(transition(this.#dialect, key, fence, changes, now));

  readonly requests: Store["requests"] = async (query) => this.read(readRequests(this.#dialect, query));

  readonly outcomes: Store["outcomes"] = async (query) => this.read(readOutcomes(this.#dialect, query));

  readonly batches: Store["batches"] = async (query) => this.read(findBatches(this.#dialect, query));

  readonly find: Store["find"] = async (query) => this.read(findRequests(this.#dialect, query));

  readonly usage: Store["usage"] = async (query) => this.read(readUsage(query));

  readonly marks: Store["marks"] = async (changes) =>
    changes.length === 0 ? this.read(changeMarks(changes)) : this.write(changeMarks(changes));

  readonly payers: Store["payers"] = async (changes, names) => {
    const steps = changePayers(this.#dialect, changes, names);
    return changes.length === 0 ? this.read(steps) : this.write(steps);
  };

  readonly close: Store["close"] = () => {
    this.#closing ??= this.#end();
    return this.#closing;
  };

  /** Starts a call that `close` waits for; rejects once the store is closed. */
  protected async tracked<Result>(start: () => Promise<Result>): Promise<Result> {
    this.#assertOpen();
    const call = start();
    this.#running.add(call);
    return call.finally(() => this.#running.delete(call));
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new DispatchError("CLOSED", "The store is closed.");
  }

  async #end(): Promise<void> {
    await this.#intake.close();
    await Promise.allSettled(this.#running);
    this.release();
  }
}

// The store as the loops use it. The clock holds each call, and the open calls list it; values are
// sanitised before they are written; a connection error gets the store's code. Reports each data
// loss of the store once, before the next call. That call, and all calls open at that time, reject
// with it.

import type { DispatchClock } from "../../contract/dispatcher-options.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Store } from "../../contract/store/store.ts";
import { isConnectionError, readable, wordsOf } from "../../format/client-error.ts";
import type { Secrets } from "../../format/secrets.ts";
import type { OpenCalls } from "./open-calls.ts";
import { amendment, batchChanges, markChange, report, settlement } from "./storable.ts";

/** The part of a runtime that is used here. */
interface Watcher {
  readonly clock: DispatchClock;
  readonly calls: OpenCalls;
  readonly secrets: Secrets;
  /** Called with each risk of the store that was not known before. */
  onRisk(risk: DispatchError): void;
}

export class CheckedStore implements Store {
  readonly #store: Store;
  readonly #watcher: Watcher;
  readonly #onSetBack: (loss: DispatchError) => void;
  #knownLoss: DispatchError | null;
  #knownRisk: DispatchError | null = null;
  /** Absent where the store has no clock. */
  readonly now?: () => Promise<number>;

  /** `onSetBack` is called once for each loss that the store finds from now on. */
  constructor(store: Store, watcher: Watcher, onSetBack: (loss: DispatchError) => void) {
    this.#store = store;
    this.#watcher = watcher;
    this.#onSetBack = onSetBack;
    this.#knownLoss = store.setBack ?? null;
    if (store.now !== undefined) this.now = () => this.#call("now", () => store.now?.() as Promise<number>);
  }

  get setBack(): DispatchError | null {
    return this.#store.setBack ?? null;
  }

  get risk(): DispatchError | null {
    return this.#store.risk ?? null;
  }

  readonly enqueue: Store["enqueue"] = (requests, now) =>
    this.#call("enqueue", () => this.#store.enqueue(requests, now));

  readonly amend: Store["amend"] = (change, sinks, now) =>
    this.#call("amend", () => this.#store.amend(amendment(change, this.#watcher.secrets), sinks, now));

  readonly probe: Store["probe"] = (limit, now) => this.#call("probe", () => this.#store.probe(limit, now));

  readonly seal: Store["seal"] = (input) => this.#call("seal", () => this.#store.seal(input));

  readonly lease: Store["lease"] = (input) => this.#call("lease", () => this.#store.lease(input));

  readonly transition: Store["transition"] = (key, fence, changes, now) => {
    const { secrets } = this.#watcher;
    return this.#call("transition", () => this.#store.transition(key, fence, batchChanges(changes, secrets), now));
  };

  readonly requests: Store["requests"] = (query) => this.#call("requests", () => this.#store.requests(query));

  readonly settle: Store["settle"] = (input) => {
    const items = () => input.items.map((item) => settlement(item, this.#watcher.secrets));
    return this.#call("settle", () => this.#store.settle({ ...input, items: items() }));
  };

  readonly outcomes: Store["outcomes"] = (query) => this.#call("outcomes", () => this.#store.outcomes(query));

  readonly deliveries: Store["deliveries"] = (input) => {
    const reports = () => input.reports.map((one) => report(one, this.#watcher.secrets));
    return this.#call("deliveries", () => this.#store.deliveries({ ...input, reports: reports() }));
  };

  readonly batches: Store["batches"] = (query) => this.#call("batches", () => this.#store.batches(query));

  readonly find: Store["find"] = (query) => this.#call("find", () => this.#store.find(query));

  readonly usage: Store["usage"] = (query) => this.#call("usage", () => this.#store.usage(query));

  readonly marks: Store["marks"] = (changes, now) =>
    this.#call("marks", () => this.#store.marks(changes.map(markChange), now));

  readonly payers: Store["payers"] = (changes, names) => this.#call("payers", () => this.#store.payers(changes, names));

  readonly prune: Store["prune"] = (input) => this.#call("prune", () => this.#store.prune(input));

  readonly close: Store["close"] = () => this.#call("close", () => this.#store.close());

  async #call<Answer>(name: string, method: () => Promise<Answer>): Promise<Answer> {
    const loss = this.#tellNew();
    if (loss !== null) throw loss;
    const { clock, calls } = this.#watcher;
    try {
      // A method that throws is handled like one that rejects.
      const answer = (async () => method())();
      return (await calls.add(name, clock.hold(answer))) as Answer;
    } catch (error) {
      throw unavailable(readable(error));
    } finally {
      this.#tellNew();
      this.#tellRisk();
    }
  }

  /** Reports and returns a loss that has not been reported yet; null if there is none. */
  #tellNew(): DispatchError | null {
    const found = this.setBack;
    if (found === null || found === this.#knownLoss) return null;
    this.#knownLoss = found;
    this.#onSetBack(found);
    return found;
  }

  #tellRisk(): void {
    const { risk } = this;
    if (risk !== null && risk !== this.#knownRisk) this.#watcher.onRisk(risk);
    this.#knownRisk = risk;
  }
}

/** The same error, unless it is of a connection, and the store has not said what that means. */
function unavailable(error: unknown): unknown {
  if (error instanceof DispatchError || !isConnectionError(error)) return error;
  return new DispatchError("STORE_UNAVAILABLE", wordsOf(error), error);
}

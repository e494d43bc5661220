// The gauges of one dispatcher's store: lanes, open batches, accounts, deliveries. Events supply
// them while the loops of this process run; the rest is read by `stats()` after such an event, at
// most every ten seconds, so that collecting metrics never waits for the store. An age keeps
// growing while no event comes, so a stuck loop is visible.

import type { Attributes } from "@opentelemetry/api";
import type { BatchesEvent, DispatcherEventName, DispatcherListener, LanesEvent } from "../dispatch/contract/events.ts";
import type { DispatcherStats } from "../dispatch/contract/types.ts";
import { type GaugeSeries, DISPATCHER_LABELS as LABEL } from "./dispatcher-series.ts";
import type { TellGauge } from "./gauge-writer.ts";
import { type Instruments, toSeconds } from "./series.ts";

/** The members of a dispatcher that are instrumented. */
export interface InstrumentedDispatcher {
  on<Name extends DispatcherEventName>(event: Name, listener: DispatcherListener<Name>): () => void;
  stats(): Promise<DispatcherStats>;
}

const STATS_EVERY_MS = 10_000;

/** An event, and when it came. */
interface Told<Event> {
  readonly event: Event;
  readonly at: number;
}

export class DispatcherGauges {
  readonly #dispatcher: InstrumentedDispatcher;
  readonly #attributes: Attributes;
  readonly #to: Instruments<GaugeSeries>;
  #isRunning = false;
  #lanes: Told<LanesEvent> | null = null;
  #batches: Told<BatchesEvent> | null = null;
  #stats: DispatcherStats | null = null;
  #statsAt = Number.NEGATIVE_INFINITY;

  constructor(dispatcher: InstrumentedDispatcher, attributes: Attributes, to: Instruments<GaugeSeries>) {
    this.#dispatcher = dispatcher;
    this.#attributes = attributes;
    this.#to = to;
  }

  started(): void {
    this.#isRunning = true;
  }

  /**
   * Only running loops emit lanes, so this also detects loops that were started before the listener
   * was added.
   */
  lanes(event: LanesEvent): void {
    this.started();
    this.#lanes = { event, at: performance.now() };
    if (this.#statsAt + STATS_EVERY_MS > performance.now()) return;
    this.#statsAt = performance.now();
    // The dispatcher itself reports a store that does not answer.
    this.#dispatcher.stats().then(
      (stats) => {
        this.#stats = stats;
      },
      () => {},
    );
  }

  batches(event: BatchesEvent): void {
    this.#batches = { event, at: performance.now() };
  }

  /** Writes the values that are known now. */
  observe(tell: TellGauge): void {
    const now = performance.now();
    tell(this.#to.running, this.#isRunning ? 1 : 0, this.#attributes);
    if (this.#lanes !== null) this.#observeLanes(tell, this.#lanes, now);
    if (this.#batches !== null) this.#observeBatches(tell, this.#batches, now);
    if (this.#stats !== null) this.#observeStats(tell, this.#stats);
  }

  #observeLanes(tell: TellGauge, { event: { lanes }, at }: Told<LanesEvent>, now: number): void {
    for (const { endpoint, model, waiting, tokens, oldestMs } of lanes) {
      const of = { ...this.#attributes, [LABEL.endpoint]: endpoint, [LABEL.model]: model };
      tell(this.#to.laneRequests, waiting, of);
      tell(this.#to.laneTokens, tokens, of);
      if (oldestMs !== null) tell(this.#to.laneAge, toSeconds(oldestMs + now - at), of);
    }
  }

  #observeBatches(tell: TellGauge, { event: { states }, at }: Told<BatchesEvent>, now: number): void {
    for (const { state, count, oldestMs } of states) {
      const of = { ...this.#attributes, [LABEL.state]: state };
      tell(this.#to.batchesOpen, count, of);
      tell(this.#to.batchAge, toSeconds(oldestMs + now - at), of);
    }
  }

  #observeStats(tell: TellGauge, { ledgers, paused, deliveriesWaiting }: DispatcherStats): void {
    const ofAccount = (name: string): Attributes => ({ ...this.#attributes, [LABEL.account]: name });
    for (const { name, tokens, requests, batches, blockedUntil } of ledgers) {
      tell(this.#to.accountTokens, tokens, ofAccount(name));
      tell(this.#to.accountRequests, requests, ofAccount(name));
      tell(this.#to.accountBatches, batches, ofAccount(name));
      const isBlocked = blockedUntil > Date.now();
      tell(this.#to.accountPaused, isBlocked ? 1 : 0, { ...ofAccount(name), [LABEL.reason]: "provider" });
    }
    for (const { name } of paused.accounts) {
      tell(this.#to.accountPaused, 1, { ...ofAccount(name), [LABEL.reason]: "operator" });
    }
    tell(this.#to.deliveriesWaiting, deliveriesWaiting, this.#attributes);
  }
}

// Ends a job that cannot continue. Checks each account once before the first upload, and rejects if
// the accounts of the remaining requests refuse their keys or the model. It learns about keys from
// calls of this process, and about models from the store: the loop that first reads a refusal wakes
// it.

import { askAccount, checkTimeoutMs, failureIn, faultOf } from "../accounts/check-account.ts";
import { endPause } from "../accounts/end-pause.ts";
import {
  healthMark,
  healthOf,
  type LanePlace,
  modelRefusal,
  refusedModels,
  withProbeDue,
} from "../accounts/lane-health.ts";
import { servingOf } from "../accounts/rank-accounts.ts";
import { changeHealth } from "../accounts/record-lane-health.ts";
import { LIVE } from "../batches/life-cycle.ts";
import { DispatchError } from "../contract/errors.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import { parseLane } from "../format/encode.ts";
import { homeLane } from "../format/open-requests.ts";
import { LeaseLost } from "../runtime/lease/lease.ts";
import { Loop } from "../runtime/loop.ts";
import { bounded, failureOf } from "../runtime/provider-calls.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { openLanes } from "./open-lanes.ts";

const FIRST_LOOK_MS = 100;
const LAST_LOOK_MS = 10_000;
/** How long other accounts are preferred to one that did not pass its check, in ms. */
const AVOIDED_MS = 15 * 60_000;
/** Maximum open batches to read; with more, the job continues. */
const MOST_BATCHES = 1_000;
const SENT = LIVE.filter((state) => state !== "sealed" && state !== "waiting_capacity");

export interface JobGuardInput {
  readonly runtime: Runtime;
  readonly job: string;
  /** True once all requests of the job are stored. */
  readonly produced: { readonly isDone: boolean };
  /** Called once, as soon as some request can run. */
  readonly onOpen: () => Promise<void>;
  /** Called once. */
  readonly onStuck: (error: DispatchError) => void;
}

export class JobGuard {
  readonly #input: JobGuardInput;
  readonly #loop: Loop;
  #lookMs = FIRST_LOOK_MS;
  #isOpen = false;
  /**
   * Models that an earlier run was refused, by the batch that was: not tried in this run yet. null
   * before the first look.
   */
  #refusedBefore: ReadonlyMap<string, string> | null = null;
  /** Lanes at accounts whose pause of an earlier run was ended. */
  readonly #triedAgain: Set<string> = new Set();
  /** When the accounts were last checked, on the monotonic clock. */
  #askedAt = 0;

  constructor(input: JobGuardInput) {
    const { runtime } = input;
    this.#input = input;
    this.#loop = new Loop(runtime.clock, (error) => runtime.reportShared(error, { operation: "store" }));
  }

  /** Checks each account once. */
  async start(): Promise<void> {
    const { runtime } = this.#input;
    const { refusals } = runtime.troubles;
    await this.#askAll(runtime.accounts);
    if (runtime.isStopping) return;
    if (runtime.accounts.some(({ name }) => !refusals.has(name))) await this.#open();
    runtime.troubles.onRefusal = () => {
      this.#lookMs = FIRST_LOOK_MS;
      this.#loop.wake();
    };
    this.#loop.start(() => this.#turn());
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #open(): Promise<void> {
    if (this.#isOpen || this.#input.runtime.isStopping) return;
    this.#isOpen = true;
    await this.#input.onOpen();
  }

  async #askAll(accounts: Runtime["accounts"]): Promise<void> {
    this.#askedAt = this.#input.runtime.clock.monotonic();
    await Promise.all(accounts.map((account) => this.#ask(account)));
  }

  async #ask(account: Runtime["accounts"][number]): Promise<void> {
    const { runtime } = this.#input;
    try {
      const cuts = [runtime.stopping.signal];
      await bounded(runtime, checkTimeoutMs(account), cuts, (call) => askAccount(account, call));
      runtime.troubles.worked(account.name, "read");
      await this.#endPause(account);
    } catch (error) {
      const fault = runtime.isStopping ? null : faultOf(account, error);
      if (fault === null) return;
      const failure = failureIn(fault, failureOf(account, error, "list"));
      // A key that may not list may still send, and so may an account without a list.
      const isOfSends = fault.status === null || (fault.kind === "key" && fault.status !== 403);
      if (isOfSends) runtime.troubles.avoid(account.name, AVOIDED_MS);
      runtime.troubles.add({ error, failure, context: { account: account.name, operation: "list" } });
    }
  }

  /** The account is not to blame for a fault of the store. */
  async #endPause(account: Runtime["accounts"][number]): Promise<void> {
    const { runtime } = this.#input;
    try {
      await endPause(runtime, account);
    } catch (error) {
      if (!(error instanceof LeaseLost)) runtime.reportShared(error, { operation: "store" });
    }
  }

  async #turn(): Promise<number> {
    const { runtime, onStuck } = this.#input;
    const { refusals } = runtime.troubles;
    const models = refusedModels((await runtime.readPauses()).healths);
    this.#refusedBefore ??= new Map([...models].map(([mark, { by }]) => [mark, by]));
    if ((refusals.size === 0 && models.size === 0) || runtime.isStopping) return Number.POSITIVE_INFINITY;
    let found = await this.#whyStuck();
    // A refusal may be hours old if nothing was left to send.
    if (
      found instanceof DispatchError &&
      refusals.size > 0 &&
      runtime.clock.monotonic() - this.#askedAt > LAST_LOOK_MS
    ) {
      await this.#askAll(runtime.accounts.filter(({ name }) => refusals.has(name)));
      found = await this.#whyStuck();
    }
    if (found instanceof DispatchError) {
      onStuck(found);
      return Number.POSITIVE_INFINITY;
    }
    if (found === "open") await this.#open();
    this.#lookMs = Math.min(2 * this.#lookMs, LAST_LOOK_MS);
    return runtime.clock.now() + this.#lookMs;
  }

  /** `open` while some request can run; `idle` if none is left to run, or stored yet. */
  async #whyStuck(): Promise<DispatchError | "open" | "idle"> {
    const { runtime, job, produced } = this.#input;
    const { refusals } = runtime.troubles;
    const lanes = await openLanes(runtime, job);
    if (lanes.size === 0) return "idle";
    // Later requests may be for a working account.
    if (!produced.isDone && runtime.accounts.some(({ name }) => !refusals.has(name))) return "open";
    const able = new Set<string>();
    const noModel: string[] = [];
    for (const lane of lanes) {
      const { first, second } = servingOf(runtime.accounts, parseLane(lane));
      const names = [...first, ...second].map(({ name }) => name);
      // A lane that no account here serves belongs to another process.
      if (names.length === 0) return "open";
      for (const name of names) {
        if (refusals.has(name)) able.add(name);
        else {
          const words = await this.#modelRefused({ ...parseLane(lane), account: name });
          if (words === null) return "open";
          noModel.push(words);
        }
      }
    }
    const sent = await runtime.store.batches({ states: SENT, limit: MOST_BATCHES });
    const mayRead = ({ account }: BatchRow): boolean => refusals.get(account)?.blocksReads !== true;
    if (sent.length === MOST_BATCHES || sent.some((row) => lanes.has(homeLane(row.lane)) && mayRead(row))) {
      return "open";
    }
    const keys = [...refusals].filter(([name]) => able.has(name)).map(([name, { words }]) => wordsOfKey(name, words));
    return noModel.length === 0 ? keysError(job, keys) : modelsError(job, [...keys, ...noModel]);
  }

  /**
   * Says that the account does not have the model; null if it may have it. A refusal that an
   * earlier run met is tried again at once, because a new run means that a person has acted.
   */
  async #modelRefused(place: LanePlace): Promise<string | null> {
    const { runtime } = this.#input;
    const pause = modelRefusal(healthOf(runtime.lastPauses.healths, place));
    if (pause === null) return null;
    const mark = healthMark(place);
    const isOld = this.#refusedBefore?.get(mark) === pause.by;
    if (isOld && !this.#triedAgain.has(mark)) {
      this.#triedAgain.add(mark);
      await changeHealth(runtime, place, "", (health) => withProbeDue(health, runtime.clock.now()));
      runtime.sealing.wake();
    }
    if (isOld || pause.refused === 0 || pause.probe !== null) return null;
    return `the account "${place.account}" refuses the model "${place.model}" (${pause.code}: ${pause.message})`;
  }
}

function wordsOfKey(account: string, words: string): string {
  return `the account "${account}" ${words}`;
}

function keysError(job: string, each: readonly string[]): DispatchError {
  const rest = "This run ends, and its requests stay in the store: check the key, then call it again.";
  return new DispatchError("ACCOUNT_REFUSED", `The job "${job}" cannot continue: ${each.join(", ")}. ${rest}`);
}

function modelsError(job: string, each: readonly string[]): DispatchError {
  const rest =
    "This run ends. Stored requests keep their model: run corrected ones under a new `job`. If the model is right and available by now, call it again.";
  return new DispatchError("MODEL_REFUSED", `The job "${job}" cannot continue: ${each.join(", ")}. ${rest}`);
}

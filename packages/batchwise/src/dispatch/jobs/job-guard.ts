// Ends a job that cannot continue. Checks each account once before the first upload, and rejects if
// the keys of all accounts for the remaining requests are refused. Uses only what this process has
// seen.

import { KEY_KEEPS, type KeyRefusal } from "../accounts/account-trouble.ts";
import { askAccount, checkTimeoutMs, failureIn, faultOf } from "../accounts/check-account.ts";
import { endPause } from "../accounts/end-pause.ts";
import { servingOf } from "../accounts/rank-accounts.ts";
import { LIVE } from "../batches/life-cycle.ts";
import { DispatchError } from "../contract/errors.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import { parseLane } from "../format/encode.ts";
import { homeLane } from "../format/open-requests.ts";
import { Loop } from "../runtime/loop.ts";
import { bounded } from "../runtime/provider-calls.ts";
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
      await endPause(runtime, account);
    } catch (error) {
      const fault = runtime.isStopping ? null : faultOf(account, error);
      if (fault === null) return;
      const failure = failureIn(fault, account.classify(error, "list"));
      // A key that may not list may still send, and so may an account without a list.
      const isOfSends = fault.kind === "key" ? fault.status !== 403 : fault.kind === "network";
      if (isOfSends) runtime.troubles.avoid(account.name, AVOIDED_MS);
      runtime.troubles.add({ error, failure, context: { account: account.name, operation: "list" } });
    }
  }

  async #turn(): Promise<number> {
    const { runtime, onStuck } = this.#input;
    const { refusals } = runtime.troubles;
    if (refusals.size === 0 || runtime.isStopping) return Number.POSITIVE_INFINITY;
    let found = await this.#whyStuck();
    // A refusal may be hours old if nothing was left to send.
    if (found instanceof DispatchError && runtime.clock.monotonic() - this.#askedAt > LAST_LOOK_MS) {
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
    for (const lane of lanes) {
      const { first, second } = servingOf(runtime.accounts, parseLane(lane));
      const names = [...first, ...second].map(({ name }) => name);
      // A lane that no account here serves belongs to another process.
      if (names.length === 0 || names.some((name) => !refusals.has(name))) return "open";
      for (const name of names) able.add(name);
    }
    const sent = await runtime.store.batches({ states: SENT, limit: MOST_BATCHES });
    const mayRead = ({ account }: BatchRow): boolean => refusals.get(account)?.blocksReads !== true;
    if (sent.length === MOST_BATCHES || sent.some((row) => lanes.has(homeLane(row.lane)) && mayRead(row))) {
      return "open";
    }
    return stuckError(
      job,
      [...refusals].filter(([name]) => able.has(name)),
    );
  }
}

function stuckError(job: string, refusals: readonly (readonly [string, KeyRefusal])[]): DispatchError {
  const each = refusals.map(([name, { words }]) => `the account "${name}" ${words}`).join(", ");
  const rest = `${KEY_KEEPS} This run ends: check the key, then call it again.`;
  return new DispatchError("ACCOUNT_REFUSED", `Nothing can go on with the job "${job}": ${each}. ${rest}`);
}

// The fallback account of a simulated world: whether it has one, its kind, and its obligations to
// requests with deadlines. In calm worlds it is healthy and free, no process dies or sleeps, and
// the other accounts refuse batches, are paused or full: there a request that is stored in time
// must not expire unsent.

import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import type { OutcomeRow } from "../../../../src/dispatch/contract/store/outcome-rows.ts";
import { seeded } from "../world.ts";
import type { SimProvider, SimTime } from "./sim-provider.ts";
import { REFUSALS } from "./sim-refusals.ts";
import { statusOf } from "./sim-requests.ts";
import { SimRunner } from "./sim-runner.ts";

const MINUTE = 60_000;
/**
 * A request that is stored so long before its deadline is looked at in time, whatever it waits for.
 */
const STORED_BEFORE_MS = 3 * MINUTE;
const OFFSET = 5_000_000;
const REFUSED_FOR_SURE: readonly Failure[] = REFUSALS.filter(({ kind }) => kind !== "unknown");

export interface World {
  readonly time: SimTime;
  /** True at times, while there are faults. */
  readonly isBad: () => boolean;
}

export class SimFallback {
  readonly kind: "none" | "batches" | "lines";
  readonly isCalm: boolean;
  /** Of the requests. */
  readonly shareWithDeadline: number;
  readonly #random: () => number;
  readonly #runner: SimRunner | null;
  readonly #storedAt: Map<string, number> = new Map();

  constructor(seed: number, { time, isBad }: World) {
    this.#random = seeded(seed + OFFSET);
    const draw = this.#random();
    this.kind = draw < 0.6 ? "none" : draw < 0.8 ? "batches" : "lines";
    this.isCalm = this.kind !== "none" && this.#random() < 0.5;
    this.shareWithDeadline = this.kind === "none" ? 0.1 : 0.4;
    const refusal = (): Failure | null =>
      isBad() ? (REFUSALS[Math.floor(this.#random() * REFUSALS.length)] as Failure) : null;
    this.#runner = this.kind === "lines" ? new SimRunner({ time, lineMs: () => 50, statusOf, refusal }) : null;
  }

  /**
   * Occasional answers of a calm world's other accounts, none of which leaves open whether the
   * batch runs.
   */
  refusalInCalm(): Failure | null {
    if (this.#random() > 0.2) return null;
    return REFUSED_FOR_SURE[Math.floor(this.#random() * REFUSED_FOR_SURE.length)] as Failure;
  }

  /** The account that runs lines, where the world has it. */
  accounts(): Account[] {
    return this.#runner === null ? [] : [this.#runner.account()];
  }

  get executions(): SimRunner["executions"] {
    return this.#runner?.executions ?? [];
  }

  stored(name: string, now: number): void {
    if (!this.#storedAt.has(name)) this.#storedAt.set(name, now);
  }

  /**
   * Requests that expired although they were stored in time, and were in no create that a provider
   * took.
   */
  expiredNeedlessly(
    outcomes: readonly OutcomeRow[],
    deadlines: ReadonlyMap<string, number>,
    providers: readonly SimProvider[],
  ): string[] {
    if (!this.isCalm) return [];
    const ran = new Set(this.executions.map(({ identity }) => identity));
    const expired = outcomes.filter(({ id, status }) => {
      const inTime = (deadlines.get(id) ?? 0) - (this.#storedAt.get(id) ?? 0) >= STORED_BEFORE_MS;
      return status === "expired" && inTime && !ran.has(id);
    });
    return expired.map(({ id }) => id).filter((id) => !providers.some((provider) => provider.hasTaken(id)));
  }
}

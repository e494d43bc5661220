// Why requests of a job wait now, and until when: a batch that failed and is tried again later, or
// accounts that take nothing for a while. Reads the store, so each process of the job says the
// same.

import { healthOf, openness } from "../accounts/lane-health.ts";
import { pauseCode } from "../accounts/outage.ts";
import { laneMark, type Pauses } from "../accounts/pauses.ts";
import { servingOf } from "../accounts/rank-accounts.ts";
import { LIVE, ledgerName } from "../batches/life-cycle.ts";
import type { JobPause } from "../contract/jobs.ts";
import type { LedgerRow } from "../contract/store/ledger-rows.ts";
import type { Probe } from "../contract/store/probe.ts";
import type { LaneRef } from "../contract/types.ts";
import { parseLane } from "../format/encode.ts";
import { errorOf } from "../format/payload.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** Batches that are looked at, the newest first. */
const MOST = 100;

/** The pause that ends first; null while nothing of these lanes is known to wait. */
export async function jobPause(runtime: Runtime, open: readonly LaneRef[], probe: Probe): Promise<JobPause | null> {
  if (open.length === 0) return null;
  const pauses = await runtime.readPauses();
  const found = [
    ...(await ofBatches(runtime, open, probe)),
    ...open.flatMap((lane) => ofLane(runtime, lane, probe, pauses)),
  ];
  return found.reduce<JobPause | null>(
    (first, next) => (first === null || isEarlier(next, first) ? next : first),
    null,
  );
}

function isEarlier(one: JobPause, other: JobPause): boolean {
  return (one.until ?? Number.POSITIVE_INFINITY) < (other.until ?? Number.POSITIVE_INFINITY);
}

async function ofBatches({ store, clock }: Runtime, open: readonly LaneRef[], probe: Probe): Promise<JobPause[]> {
  if (LIVE.every((state) => probe.batches[state] === 0)) return [];
  const now = clock.now();
  return (await store.batches({ states: LIVE, limit: MOST })).flatMap((batch) => {
    const { lane, account, nextAt } = batch;
    const { endpoint, model } = parseLane(lane);
    const isIts = open.some((one) => one.endpoint === endpoint && one.model === model);
    const error = errorOf(batch);
    if (!isIts || error === null || nextAt <= now) return [];
    return [{ account, until: nextAt, reason: `${error.code}: ${error.message}` }];
  });
}

/** Empty where an account of the lane takes work. */
function ofLane({ accounts, clock }: Runtime, lane: LaneRef, { ledgers }: Probe, pauses: Pauses): JobPause[] {
  const { first, second } = servingOf(accounts, { ...lane, urgent: false });
  const now = clock.now();
  const held = pauses.lanes.get(laneMark(lane));
  const found: JobPause[] = [];
  for (const { name, capabilities } of [...first, ...second]) {
    const byPerson = held ?? pauses.accounts.get(name);
    const health = healthOf(pauses.healths, { ...lane, account: name });
    const pause = openness(health, now) === "open" ? null : health.pause;
    const names = [name, ledgerName(name, capabilities.ledgerScope, lane.model)];
    const blocked = ledgers.find((row) => names.includes(row.name) && row.blockedUntil > now);
    if (byPerson !== undefined) found.push({ account: name, until: null, reason: personsReason(byPerson.reason) });
    else if (pause !== null)
      found.push({ account: name, until: pause.until, reason: `${pause.code}: ${pause.message}` });
    else if (blocked !== undefined) found.push(ofLedger(name, blocked));
    else return [];
  }
  return found;
}

function ofLedger(account: string, row: LedgerRow): JobPause {
  return { account, until: row.blockedUntil, reason: pauseCode(row) };
}

function personsReason(reason: string | null): string {
  return reason === null ? "paused by a person" : `paused by a person: ${reason}`;
}

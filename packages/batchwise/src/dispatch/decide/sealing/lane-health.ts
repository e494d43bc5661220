// What the batches of one lane have met at one account, as a mark of the store keeps it for all processes: refusals in a
// row that each blame a line, and the pause that follows where every line is bad. Pure; steps/lane-health.ts writes it.

import type { MarkRow } from "../../contract/rows.ts";
import type { LaneRef, OutcomeError } from "../../contract/types.ts";
import { storedCode, storedMessage } from "../../format/stored-code.ts";
import { backoff } from "../times/backoff.ts";

const MINUTE = 60_000;
const MARK = "lane health ";
/** Refusals in a row with one code after which the lane is to blame, and codes that blame it at once. */
const FAULTS_IN_A_ROW = 3;
const OF_THE_MODEL = /model_not_found|model_mismatch|mismatched_model/;
const FIRST_PAUSE_MS = 5 * MINUTE;
/** Each request that is sent alone may end, so these grow longer than an account's. */
const LONGEST_PAUSE_MS = 6 * 60 * MINUTE;
/** How long the others wait for what becomes of a request that was sent alone. */
const PROBE_MS = 30 * MINUTE;

/** The lane at an account. Parts of split batches are of their lane. */
export interface LanePlace extends LaneRef {
  readonly account: string;
}

export interface LaneHealth extends LanePlace {
  /** Batches in a row that were refused for a line, all with this code. */
  readonly faults: { readonly code: string; readonly batches: readonly string[] } | null;
  /** null while the lane is open. */
  readonly pause: LanePause | null;
}

/** Why nothing of the lane is sent to the account, and until when. */
export interface LanePause extends OutcomeError {
  readonly since: number;
  /** Requests that were sent alone and refused. */
  readonly refused: number;
  readonly until: number;
  /** The batch of the request that is sent alone; null between two of them. */
  readonly probe: string | null;
}

export type Healths = ReadonlyMap<string, LaneHealth>;

export function healthMark({ account, endpoint, model }: LanePlace): string {
  return storedMessage(`${MARK}${endpoint} ${account} ${model}`);
}

export function healthsOf(marks: readonly MarkRow[]): Healths {
  const own = marks.filter(({ name }) => name.startsWith(MARK));
  return new Map(own.map(({ name, value }) => [name, JSON.parse(value) as LaneHealth]));
}

export function healthOf(healths: Healths, place: LanePlace): LaneHealth {
  const { account, endpoint, model } = place;
  return healths.get(healthMark(place)) ?? { account, endpoint, model, faults: null, pause: null };
}

/** The mark's value; null where there is nothing to remember. */
export function healthValue(health: LaneHealth): string | null {
  return health.faults === null && health.pause === null ? null : JSON.stringify(health);
}

/** A batch on its way, and when its create was sent. */
export interface SentBatch {
  readonly key: string;
  readonly sentAt: number;
}

/** After the provider blamed a line of the batch. The same object where nothing changes. */
export function afterFault(health: LaneHealth, batch: SentBatch, fault: OutcomeError, now: number): LaneHealth {
  const { pause, faults } = health;
  const words = { code: storedCode(fault.code), message: storedMessage(fault.message) };
  if (pause !== null) {
    if (!isSince(pause, batch)) return health;
    const refused = pause.refused + 1;
    const until = now + backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, refused);
    return { ...health, pause: { ...pause, ...words, refused, until, probe: null } };
  }
  const before = faults?.code === words.code ? faults.batches : [];
  if (before.includes(batch.key)) return health;
  const batches = [...before, batch.key];
  if (!OF_THE_MODEL.test(words.code) && batches.length < FAULTS_IN_A_ROW) {
    return { ...health, faults: { code: words.code, batches } };
  }
  return { ...health, faults: null, pause: { ...words, since: now, refused: 0, until: now, probe: null } };
}

/** After the batch has passed validation. One that was sent before the pause proves nothing. */
export function afterAcceptance(health: LaneHealth, batch: SentBatch): LaneHealth {
  const { faults, pause } = health;
  if (pause === null) return faults === null ? health : { ...health, faults: null };
  return isSince(pause, batch) ? { ...health, faults: null, pause: null } : health;
}

/** True for a batch that was sent during the pause: clocks of processes differ, so its key counts, too. */
function isSince(pause: LanePause, { key, sentAt }: SentBatch): boolean {
  return pause.probe === key || sentAt >= pause.since;
}

/** After a batch of one request was sealed to find out whether the lane is well. The same object where another was. */
export function withProbe(health: LaneHealth, batch: string, now: number): LaneHealth {
  const { pause } = health;
  if (pause === null || openness(health, now) === "closed") return health;
  return { ...health, pause: { ...pause, probe: batch, until: now + PROBE_MS } };
}

/** `probe`: one request may be sent alone. */
export type Openness = "open" | "probe" | "closed";

export function openness({ pause }: LaneHealth, now: number): Openness {
  if (pause === null) return "open";
  // A clock that was ahead may have written a time that is too late.
  const leftMs = pause.until - now;
  return leftMs > 0 && leftMs <= LONGEST_PAUSE_MS ? "closed" : "probe";
}

/** True where the batch, which has not been sent, is not to be sent now. */
export function isKeptBack({ pause }: LaneHealth, batch: string): boolean {
  return pause !== null && pause.probe !== batch;
}

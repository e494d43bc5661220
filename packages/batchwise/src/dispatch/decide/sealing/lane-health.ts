// What the batches of one lane have met at one account, as a mark of the store keeps it for all
// processes: refusals in a row that each blame a line, the pauses where every line is bad or the
// provider has no capacity, and what the user was told. Pure; steps/lane-health.ts writes it.

import type { MarkRow } from "../../contract/rows.ts";
import type { LaneRef, OutcomeError } from "../../contract/types.ts";
import { storedCode, storedMessage } from "../../format/stored-code.ts";
import { backoff } from "../times/backoff.ts";

const MINUTE = 60_000;
const MARK = "lane health ";
/**
 * Refusals in a row with one code after which the lane is to blame, and codes that blame it at
 * once.
 */
const FAULTS_IN_A_ROW = 3;
const OF_THE_MODEL = /model_not_found|model_mismatch|mismatched_model/;
const FIRST_PAUSE_MS = 5 * MINUTE;
/**
 * Each request that is sent alone may end, so pauses for bad lines grow longer than those for lack
 * of capacity.
 */
const LONGEST_PAUSE_MS = { lines: 6 * 60 * MINUTE, capacity: 60 * MINUTE } as const;
/** A code of batches without a success is reported again after so long. */
const TOLD_FOR_MS = 24 * 60 * MINUTE;
const MOST_TOLD = 20;
/** How long the others wait for what becomes of a request that was sent alone. */
const PROBE_MS = 30 * MINUTE;

/** The lane at an account. Parts of split batches are of their lane. */
export interface LanePlace extends LaneRef {
  readonly account: string;
}

export interface LaneHealth extends LanePlace {
  /** Batches in a row that were refused for a line, all with this code. */
  readonly faults: { readonly code: string; readonly batches: readonly string[] } | null;
  /**
   * null while the lane is well. A pause for lack of capacity stays, once it is over, until a
   * request succeeds.
   */
  readonly pause: LanePause | null;
  /** Codes of batches without a success that were reported, and when. */
  readonly told: Readonly<Record<string, number>>;
  /** The batch for which it was written last; "" for none. */
  readonly by: string;
}

/** Why nothing of the lane is sent to the account, and until when. */
export interface LanePause extends OutcomeError {
  /**
   * `lines`: each is bad, and one request is sent alone in between. `capacity`: all go on at its
   * end.
   */
  readonly cause: "lines" | "capacity";
  readonly since: number;
  /** When it was last made longer, and the batch whose owner does so and reports it. */
  readonly at: number;
  readonly by: string;
  /** Requests that were sent alone and refused; of `capacity`, pauses in a row. */
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
  return healths.get(healthMark(place)) ?? { account, endpoint, model, faults: null, pause: null, told: {}, by: "" };
}

/** The mark's value; null where there is nothing to remember. */
export function healthValue(health: LaneHealth): string | null {
  const { faults, pause, told } = health;
  return faults === null && pause === null && Object.keys(told).length === 0 ? null : JSON.stringify(health);
}

/** A batch on its way, and when its create was sent. */
export interface SentBatch {
  readonly key: string;
  readonly sentAt: number;
}

/** After the provider blamed a line of the batch. The same object where nothing changes. */
export function afterFault(health: LaneHealth, batch: SentBatch, fault: OutcomeError, now: number): LaneHealth {
  const { pause, faults } = health;
  const words = storedWords(fault);
  if (pause?.cause === "lines") {
    if (!isSince(pause, batch)) return health;
    const refused = pause.refused + 1;
    return {
      ...health,
      pause: { ...pause, ...words, at: now, by: batch.key, refused, until: endOf("lines", refused, now), probe: null },
    };
  }
  const before = faults?.code === words.code ? faults.batches : [];
  if (before.includes(batch.key)) return health;
  const batches = [...before, batch.key];
  if (!OF_THE_MODEL.test(words.code) && batches.length < FAULTS_IN_A_ROW) {
    return { ...health, faults: { code: words.code, batches } };
  }
  const at = { since: now, at: now, by: batch.key, until: now };
  return { ...health, faults: null, pause: { cause: "lines", ...words, ...at, refused: 0, probe: null } };
}

function storedWords({ code, message }: OutcomeError): OutcomeError {
  return { code: storedCode(code), message: storedMessage(message) };
}

function endOf(cause: LanePause["cause"], count: number, now: number): number {
  return now + backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS[cause], count);
}

/** After the batch has passed validation. One that was sent before the pause proves nothing. */
export function afterAcceptance(health: LaneHealth, batch: SentBatch): LaneHealth {
  const { faults, pause } = health;
  if (pause?.cause !== "lines") return faults === null ? health : { ...health, faults: null };
  return isSince(pause, batch) ? { ...health, faults: null, pause: null } : health;
}

/**
 * After a batch nearly all of whose lines met a lack of capacity. Others that were sent before a
 * pause change nothing.
 */
export function afterBadHour(health: LaneHealth, batch: SentBatch, words: OutcomeError, now: number): LaneHealth {
  const { pause } = health;
  if (pause?.cause === "lines" || (pause !== null && batch.sentAt < pause.at)) return health;
  const refused = (pause?.refused ?? 0) + 1;
  const until = endOf("capacity", refused, now);
  const at = { since: pause?.since ?? now, at: now, by: batch.key, until };
  return { ...health, pause: { cause: "capacity", ...storedWords(words), ...at, refused, probe: null } };
}

/** After a batch some of whose requests have succeeded. */
export function afterSuccess(health: LaneHealth): LaneHealth {
  return health.pause?.cause === "capacity" ? { ...health, pause: null } : health;
}

/** Pauses in a row for lack of capacity. */
export function capacityPauses({ pause }: LaneHealth): number {
  return pause?.cause === "capacity" ? pause.refused : 0;
}

/**
 * After a batch without a success, most of whose requests ended with this code. The same object
 * where that was told.
 */
export function afterTold(health: LaneHealth, code: string, now: number): LaneHealth {
  const young = Object.entries(health.told).filter(([, at]) => at + TOLD_FOR_MS > now && at <= now + TOLD_FOR_MS);
  const name = storedCode(code);
  if (young.some(([told]) => told === name)) return health;
  return { ...health, told: Object.fromEntries([...young.slice(1 - MOST_TOLD), [name, now]]) };
}

/**
 * True for a batch that was sent during the pause: clocks of processes differ, so its key counts,
 * too.
 */
function isSince(pause: LanePause, { key, sentAt }: SentBatch): boolean {
  return pause.probe === key || sentAt >= pause.since;
}

/**
 * After a batch of one request was sealed to find out whether the lane is well. The same object
 * where another was.
 */
export function withProbe(health: LaneHealth, batch: string, now: number): LaneHealth {
  const { pause } = health;
  if (pause === null || openness(health, now) !== "probe") return health;
  return { ...health, pause: { ...pause, probe: batch, until: now + PROBE_MS } };
}

/** `probe`: one request may be sent alone. */
export type Openness = "open" | "probe" | "closed";

export function openness({ pause }: LaneHealth, now: number): Openness {
  if (pause === null) return "open";
  // A clock that was ahead may have written a time that is too late.
  const leftMs = pause.until - now;
  if (leftMs > 0 && leftMs <= LONGEST_PAUSE_MS[pause.cause]) return "closed";
  return pause.cause === "lines" ? "probe" : "open";
}

/** True where the batch, which has not been sent, is not to be sent now. */
export function isKeptBack(health: LaneHealth, batch: string, now: number): boolean {
  const { pause } = health;
  return pause?.cause === "lines" ? pause.probe !== batch : openness(health, now) === "closed";
}

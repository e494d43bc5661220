// The recent history of one lane's batches at one account, kept in a mark of the store for all
// processes: consecutive refusals that each blame a line, pauses because every line is bad or the
// provider has no capacity, and reports to the user. accounts/record-lane-health.ts writes it.
// Pure.

import type { MarkRow } from "../contract/store/ledger-rows.ts";
import type { LaneRef, OutcomeError } from "../contract/types.ts";
import { storedCode, storedMessage } from "../format/stored-code.ts";
import { backoff } from "../runtime/backoff.ts";
import { isOfTheModel } from "./provider-codes.ts";

const MINUTE = 60_000;
const MARK = "lane health ";
/** Version of the stored record. Records of other versions are ignored and rewritten. */
const VERSION = 1;
/** Consecutive refusals with one code after which the lane is to blame, whatever the code. */
const FAULTS_IN_A_ROW = 3;
const FIRST_PAUSE_MS = 5 * MINUTE;
/**
 * Longest pause by cause, in ms. Every probe may cost a request a failure, so pauses for bad lines
 * grow longer.
 */
const LONGEST_PAUSE_MS = { lines: 6 * 60 * MINUTE, capacity: 60 * MINUTE } as const;
/** A code of batches without a success is reported again after this time, in ms. */
const TOLD_FOR_MS = 24 * 60 * MINUTE;
const MOST_TOLD = 20;
/** How long the others wait for the result of the probe, in ms. */
const PROBE_MS = 30 * MINUTE;

/** A lane at an account. Parts of split batches belong to their lane. */
export interface LanePlace extends LaneRef {
  readonly account: string;
}

export interface LaneHealth extends LanePlace {
  /** Consecutive batches that were refused for a line, all with this code. */
  readonly faults: { readonly code: string; readonly batches: readonly string[] } | null;
  /**
   * null while the lane is healthy. An expired pause for lack of capacity stays until a request
   * succeeds.
   */
  readonly pause: LanePause | null;
  /** Reported codes of batches without a success, with the times. */
  readonly told: Readonly<Record<string, number>>;
  /** The batch for which it was last written; "" for none. */
  readonly by: string;
}

/** Why nothing of the lane is sent to the account, and until when. */
export interface LanePause extends OutcomeError {
  /**
   * `lines`: every line is refused; after each pause one request is sent as a probe. `capacity`:
   * all requests continue at the end of the pause.
   */
  readonly cause: "lines" | "capacity";
  readonly since: number;
  /** When it was last extended, and the batch whose owner does so and reports it. */
  readonly at: number;
  readonly by: string;
  /** Probes that were refused; for `capacity`, consecutive pauses. */
  readonly refused: number;
  readonly until: number;
  /** The batch of the running probe; null between probes. */
  readonly probe: string | null;
}

export type Healths = ReadonlyMap<string, LaneHealth>;

/** The account is the word between the first two spaces, however it is named. */
export function healthMark({ account, endpoint, model }: LanePlace): string {
  return storedMessage(`${MARK}${endpoint} ${account.replace(/[% ]/g, encodeURIComponent)} ${model}`);
}

export function healthsOf(marks: readonly MarkRow[]): Healths {
  const healths = new Map<string, LaneHealth>();
  for (const { name, value } of marks) {
    if (!name.startsWith(MARK)) continue;
    const { version = VERSION, ...health } = JSON.parse(value) as LaneHealth & { readonly version?: number };
    // Records without a version are of the first one.
    if (version !== VERSION) continue;
    const own = healthMark(health);
    if (name === own || (name === formerMark(health) && !healths.has(own))) healths.set(own, health);
  }
  return healths;
}

/** As earlier versions named it, where two places could share a name. */
function formerMark({ account, endpoint, model }: LanePlace): string {
  return storedMessage(`${MARK}${endpoint} ${account} ${model}`);
}

/** The place's record under its former name, if there is one: the next change replaces it. */
export function formerRows(marks: readonly MarkRow[], place: LanePlace): MarkRow[] {
  const own = healthMark(place);
  return own === formerMark(place) ? [] : marks.filter((row) => row.name !== own && healthsOf([row]).has(own));
}

export function healthOf(healths: Healths, place: LanePlace): LaneHealth {
  const { account, endpoint, model } = place;
  return healths.get(healthMark(place)) ?? { account, endpoint, model, faults: null, pause: null, told: {}, by: "" };
}

/** The mark's value; null if there is nothing to remember. */
export function healthValue(health: LaneHealth): string | null {
  const { faults, pause, told } = health;
  return faults === null && pause === null && Object.keys(told).length === 0
    ? null
    : JSON.stringify({ version: VERSION, ...health });
}

/** A batch that was sent, and the time of its create. */
export interface SentBatch {
  readonly key: string;
  readonly sentAt: number;
}

/** Applies a refusal that blames a line. Returns the same object if nothing changes. */
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
  if (!isOfTheModel(words.code) && batches.length < FAULTS_IN_A_ROW) {
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

/**
 * Applies a batch that passed validation. A batch that was sent before the pause proves nothing.
 */
export function afterAcceptance(health: LaneHealth, batch: SentBatch): LaneHealth {
  const { faults, pause } = health;
  if (pause?.cause !== "lines") return faults === null ? health : { ...health, faults: null };
  return isSince(pause, batch) ? { ...health, faults: null, pause: null } : health;
}

/**
 * Applies a batch of which nearly all lines met a lack of capacity. One sent before a pause changes
 * nothing.
 */
export function afterBadHour(health: LaneHealth, batch: SentBatch, words: OutcomeError, now: number): LaneHealth {
  const { pause } = health;
  if (pause?.cause === "lines" || (pause !== null && batch.sentAt < pause.at)) return health;
  const refused = (pause?.refused ?? 0) + 1;
  const until = endOf("capacity", refused, now);
  const at = { since: pause?.since ?? now, at: now, by: batch.key, until };
  return { ...health, pause: { cause: "capacity", ...storedWords(words), ...at, refused, probe: null } };
}

/** Applies a batch with successful requests. */
export function afterSuccess(health: LaneHealth): LaneHealth {
  return health.pause?.cause === "capacity" ? { ...health, pause: null } : health;
}

/** Consecutive pauses for lack of capacity. */
export function capacityPauses({ pause }: LaneHealth): number {
  return pause?.cause === "capacity" ? pause.refused : 0;
}

/**
 * Applies a batch without a success, of which most requests ended with this code. Returns the same
 * object if that was reported.
 */
export function afterTold(health: LaneHealth, code: string, now: number): LaneHealth {
  const young = Object.entries(health.told).filter(([, at]) => at + TOLD_FOR_MS > now && at <= now + TOLD_FOR_MS);
  const name = storedCode(code);
  if (young.some(([told]) => told === name)) return health;
  return { ...health, told: Object.fromEntries([...young.slice(1 - MOST_TOLD), [name, now]]) };
}

/** True for a batch sent during the pause. Processes' clocks differ, so its key counts too. */
function isSince(pause: LanePause, { key, sentAt }: SentBatch): boolean {
  return pause.probe === key || sentAt >= pause.since;
}

/**
 * Applies a sealed batch of one request that tests the lane. Returns the same object if there is
 * another one.
 */
export function withProbe(health: LaneHealth, batch: string, now: number): LaneHealth {
  const { pause } = health;
  if (pause === null || openness(health, now) !== "probe") return health;
  return { ...health, pause: { ...pause, probe: batch, until: now + PROBE_MS } };
}

/** `probe`: one request may be sent, in a batch of its own. */
export type Openness = "open" | "probe" | "closed";

export function openness({ pause }: LaneHealth, now: number): Openness {
  if (pause === null) return "open";
  // A clock that was ahead may have written a time that is too late.
  const leftMs = pause.until - now;
  if (leftMs > 0 && leftMs <= LONGEST_PAUSE_MS[pause.cause]) return "closed";
  return pause.cause === "lines" ? "probe" : "open";
}

/** The lane's pause because the account does not have its model; null for none. */
export function modelRefusal({ pause }: LaneHealth): LanePause | null {
  return pause?.cause === "lines" && isOfTheModel(pause.code) ? pause : null;
}

/** Pauses because accounts do not have the model, by mark. */
export function refusedModels(healths: Healths): ReadonlyMap<string, LanePause> {
  const pauses = [...healths].map(([mark, health]) => [mark, modelRefusal(health)] as const);
  return new Map(pauses.flatMap(([mark, pause]) => (pause === null ? [] : [[mark, pause]])));
}

/** Makes the next probe due now. Returns the same object if a probe is running or already due. */
export function withProbeDue(health: LaneHealth, now: number): LaneHealth {
  const { pause } = health;
  if (pause === null || pause.probe !== null || openness(health, now) !== "closed") return health;
  return { ...health, pause: { ...pause, until: now } };
}

/** True if the unsent batch must not be sent now. */
export function isKeptBack(health: LaneHealth, batch: string, now: number): boolean {
  const { pause } = health;
  return pause?.cause === "lines" ? pause.probe !== batch : openness(health, now) === "closed";
}

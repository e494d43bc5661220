// Reads the store's marks: pauses by operators, unhealthy lanes, accounts that send only files, and
// lanes that wait for a cache. Pure.

import { type Primings, primingsOf } from "../batches/seal/cache-state.ts";
import type { MarkRow } from "../contract/store/ledger-rows.ts";
import type { LaneRef, OutcomeError, PausedRecord, PauseRecord } from "../contract/types.ts";
import { parseLane } from "../format/encode.ts";
import { storedMessage } from "../format/stored-code.ts";
import { type Healths, healthOf, healthsOf, type LanePlace, type Openness, openness } from "./lane-health.ts";

const ACCOUNT = "paused account ";
const LANE = "paused lane ";
const FILES_ONLY = "files only ";

export interface Pauses {
  /** By account name. */
  readonly accounts: ReadonlyMap<string, PauseRecord>;
  /** By name of the mark. */
  readonly lanes: ReadonlyMap<string, PauseRecord>;
  /** Health of lanes at accounts. */
  readonly healths: Healths;
  /** Names of accounts whose inline results came without names. */
  readonly filesOnly: ReadonlySet<string>;
  /** Requests that wait for the first ones of their cached prefixes. */
  readonly primings: Primings;
}

export const NO_PAUSES: Pauses = {
  accounts: new Map(),
  lanes: new Map(),
  healths: new Map(),
  filesOnly: new Set(),
  primings: new Map(),
};

/** The value of the mark; null for none. */
export function valueOfMark(marks: readonly MarkRow[], name: string): string | null {
  const stored = storedMessage(name);
  return marks.find((mark) => mark.name === stored)?.value ?? null;
}

export function accountMark(name: string): string {
  return storedMessage(ACCOUNT + name);
}

export function filesOnlyMark(name: string): string {
  return storedMessage(FILES_ONLY + name);
}

export function laneMark({ endpoint, model }: LaneRef): string {
  return storedMessage(`${LANE}${endpoint} ${model}`);
}

export function pausesOf(marks: readonly MarkRow[]): Pauses {
  const accounts = new Map<string, PauseRecord>();
  const lanes = new Map<string, PauseRecord>();
  const filesOnly = new Set<string>();
  for (const { name, value } of marks) {
    if (name.startsWith(ACCOUNT)) accounts.set(name.slice(ACCOUNT.length), JSON.parse(value) as PauseRecord);
    else if (name.startsWith(LANE)) lanes.set(name, JSON.parse(value) as PauseRecord);
    else if (name.startsWith(FILES_ONLY)) filesOnly.add(name.slice(FILES_ONLY.length));
  }
  return { accounts, lanes, healths: healthsOf(marks), filesOnly, primings: primingsOf(marks) };
}

/** True if nothing new of the lane may be sent. Parts of split batches belong to their lane. */
export function isLanePaused({ lanes }: Pauses, lane: string): boolean {
  return lanes.size > 0 && lanes.has(laneMark(parseLane(lane)));
}

/** Whether the account accepts new batches of the lane, by its pauses. */
export function opennessOf({ accounts, healths }: Pauses, place: LanePlace, now: number): Openness {
  return accounts.has(place.account) ? "closed" : openness(healthOf(healths, place), now);
}

export function pausedRecord({ accounts, lanes, healths }: Pauses): PausedRecord {
  return {
    accounts: [...accounts].map(([name, { since, reason }]) => ({ name, since, reason })),
    lanes: [
      ...[...lanes].map(([mark, { since, reason }]) => {
        const [endpoint, ...words] = mark.slice(LANE.length).split(" ");
        return { endpoint: endpoint as LaneRef["endpoint"], model: words.join(" "), since, reason };
      }),
      ...[...healths.values()].flatMap(({ account, endpoint, model, pause }) =>
        pause?.cause === "lines" ? [{ endpoint, model, since: pause.since, reason: reasonOf(account, pause) }] : [],
      ),
    ],
  };
}

function reasonOf(account: string, { code, message }: OutcomeError): string {
  return `at "${account}": ${code}: ${message}`;
}

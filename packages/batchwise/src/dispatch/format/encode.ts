// Names, lines and counts that must be the same on every machine. Pure. Changing an output here
// changes batches that are already sealed: don't.

import { hash } from "node:crypto";
import type { BatchName, LineRequest } from "../contract/account.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import type { Endpoint, JsonObject } from "../contract/types.ts";

const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const PAIRS = [...CROCKFORD].flatMap((first) => [...CROCKFORD].map((second) => first + second));
const TIME_LENGTH = 10;
/**
 * Characters per random number, of 5 bits each. A number has 32 bits, so 16 characters take three.
 */
const CHANCE_AT_ONCE = 6;
const LAST_CHANCE = 4;
const PREFIX_LENGTH = 12;
const ORD_DIGITS = 7;
/** 96 bits. Enough to detect accidental differences. */
const SHARED_LENGTH = 16;
const URGENT = "urgent";
const CUSTOM_ID = /^([0-9A-HJKMNP-TV-Z]{12})_(\d{7})$/;

/** Length of every custom id. It is fixed, so that a line's size is known before its batch. */
export const CUSTOM_ID_LENGTH: number = PREFIX_LENGTH + 1 + ORD_DIGITS;

/** A placeholder with the length of a custom id, to measure lines. */
export const SAMPLE_CUSTOM_ID: string = `${"0".repeat(PREFIX_LENGTH)}_${"0".repeat(ORD_DIGITS)}`;

/**
 * A ULID: 48 bits of time and 80 random bits, 26 characters that sort by time. `random` returns
 * numbers in [0, 1).
 */
export function ulid(now: number, random: () => number): string {
  const chance = (digits: number): string => crockford(random() * 32 ** digits, digits);
  return crockford(now, TIME_LENGTH) + chance(CHANCE_AT_ONCE) + chance(CHANCE_AT_ONCE) + chance(LAST_CHANCE);
}

/** The last `digits` characters of a number. `digits` must be even. */
function crockford(value: number, digits: number): string {
  let text = "";
  for (let left = Math.floor(value); text.length < digits; left = Math.floor(left / PAIRS.length)) {
    text = PAIRS[left % PAIRS.length] + text;
  }
  return text;
}

/** The creation time of a key in ms since 1970, by the clock of the process that made it. */
export function timeOfKey(key: string): number {
  return [...key.slice(0, TIME_LENGTH)].reduce((time, digit) => time * CROCKFORD.length + CROCKFORD.indexOf(digit), 0);
}

/** The part of a batch's key that its custom ids carry: the last 12 characters, 60 random bits. */
export function keyPrefix(key: string): string {
  return key.slice(-PREFIX_LENGTH);
}

/** `<batchkey12>_<n>`, within `[A-Za-z0-9_-]{1,64}`, the alphabet that every provider accepts. */
export function customId(key: string, ord: number): string {
  return `${keyPrefix(key)}_${String(ord).padStart(ORD_DIGITS, "0")}`;
}

/** The prefix and ordinal in a custom id, or null if it is not ours. */
export function parseCustomId(text: string): { readonly prefix: string; readonly ord: number } | null {
  const match = CUSTOM_ID.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return null;
  return { prefix: match[1], ord: Number(match[2]) };
}

/**
 * A line of an OpenAI batch file. The body's text is inserted without parsing. `url` and `method`
 * are ASCII; services spell them differently.
 */
export function openaiLine(
  { customId, endpoint, body }: LineRequest,
  url: string = endpoint,
  method: string = "POST",
): string {
  return `{"custom_id":"${customId}","method":"${method}","url":"${url}","body":${body}}\n`;
}

/** UTF-8 bytes of that line for a body of `bodyBytes`. The rest of the line is ASCII. */
export function openaiLineBytes(request: LineRequest, bodyBytes: number, url?: string, method?: string): number {
  return openaiLine({ ...request, body: "" }, url, method).length + bodyBytes;
}

/** Length in UTF-8 bytes. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/**
 * Identifies a request's content: the endpoint and the caller's body before defaults, so that new
 * defaults do not turn a repeated enqueue into a conflict. Key order counts. SHA-1 takes half the
 * time of SHA-256 and suffices: a caller who forges a collision harms only their own requests. The
 * endpoint stands beside the hash; hashing it too would copy the body.
 */
export function digestOf(endpoint: Endpoint, callerBody: string): string {
  return `${hash("sha1", callerBody, "base64url")} ${endpoint}`;
}

/**
 * Defaults under the body. Top-level fields of the body win; nested values are not merged. Without
 * defaults, returns the body itself.
 */
export function mergeDefaults(defaults: JsonObject, body: JsonObject): JsonObject {
  if (Object.keys(defaults).length === 0) return body;
  return { ...defaults, ...body };
}

/**
 * The fields of a lane's name: waiting requests of one lane may share a batch. `group` separates
 * the parts of a split batch; "" is the ordinary lane.
 */
export interface LaneName {
  readonly endpoint: Endpoint;
  readonly group: string;
  readonly model: string;
  /** Maximum inputs of one request: see inputs.ts. */
  readonly inputs: number;
  /** A mark for the accounts' groups, if any has a `groupOf`: see `sharedMark`. Else "". */
  readonly shared: string;
  /**
   * Its requests were taken out of batches because of their deadlines. Only fallback accounts take
   * them.
   */
  readonly urgent: boolean;
  /** A mark for the check of its requests' answers: see `checkMark`. "" for none. */
  readonly checked: string;
  /** Names of the payers of its requests: see `payerName`. */
  readonly payers: readonly string[];
  /** Its place among requests that share cached prefixes: see cache-lanes.ts. "" for none. */
  readonly cached: string;
}

/**
 * A lane's name as stores keep it. Endpoint and group contain no space; the model may. Marks follow
 * the endpoint if they differ from the default: inputs above one, the shared mark, urgent, checked,
 * cached.
 */
export function laneName({
  endpoint,
  group,
  model,
  inputs,
  shared,
  urgent,
  checked,
  payers,
  cached,
}: LaneName): string {
  const hasMarks = inputs > 1 || shared !== "" || urgent || checked !== "" || payers.length > 0 || cached !== "";
  const marks = [endpoint, hasMarks ? inputs : "", shared, urgent ? URGENT : "", checked, payers.join("."), cached];
  return `${marks.join("#").replace(/#+$/, "")} ${group} ${model}`;
}

/** The same for requests that go at once because of their deadlines: they wait for no others. */
export function urgentLane(lane: LaneName): string {
  return laneName({ ...lane, group: "", urgent: true, cached: "" });
}

/**
 * A short mark for the groups that the accounts put a request in. Equal groups have equal marks; ""
 * if there are none.
 */
export function sharedMark(groups: readonly (readonly [account: string, group: string])[]): string {
  if (groups.length === 0) return "";
  const inOrder = groups.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash("sha1", JSON.stringify(inOrder), "base64url").slice(0, SHARED_LENGTH);
}

/**
 * The mark of requests that share a check, and so batches: those of one job; "" stands for requests
 * of `createDispatcher({ check })`. Short, without `#` and spaces.
 */
export function checkMark(job: string): string {
  return `c${hash("sha1", job, "base64url").slice(0, SHARED_LENGTH)}`;
}

/**
 * The name of a job or tenant with a limit of price, in stores and lanes. Short, and without `#`,
 * `.` and spaces.
 */
export function payerName(kind: "job" | "tenant", name: string): string {
  return `${kind[0]}${hash("sha1", name, "base64url").slice(0, SHARED_LENGTH)}`;
}

export function parseLane(name: string): LaneName {
  const first = name.indexOf(" ");
  const second = name.indexOf(" ", first + 1);
  const [endpoint, inputs = 1, shared = "", urgent = "", checked = "", payers = "", cached = ""] = name
    .slice(0, first)
    .split("#");
  return {
    endpoint: endpoint as Endpoint,
    group: name.slice(first + 1, second),
    model: name.slice(second + 1),
    inputs: Number(inputs),
    shared,
    urgent: urgent === URGENT,
    checked,
    payers: payers === "" ? [] : payers.split("."),
    cached,
  };
}

/** The batch's identity for accounts, with its current attempt. */
export function batchName({ key, submitAttempt: attempt, lane }: BatchRow): BatchName {
  const { endpoint, model } = parseLane(lane);
  return { key, attempt, endpoint, model };
}

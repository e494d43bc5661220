// Names, lines and counts: everything about a request or a batch that must come out the same on
// every machine. Pure, but for the hash. Changing an output here changes the content of batches
// that are already sealed: don't.

import { hash } from "node:crypto";
import type { BatchName, LineRequest } from "../contract/account.ts";
import type { BatchRow } from "../contract/rows.ts";
import type { Endpoint, JsonObject } from "../contract/types.ts";

const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const PAIRS = [...CROCKFORD].flatMap((first) => [...CROCKFORD].map((second) => first + second));
const TIME_LENGTH = 10;
/**
 * Characters that one number of chance gives, of 5 bits each: it has 32 bits to give. Sixteen are
 * wanted.
 */
const CHANCE_AT_ONCE = 6;
const LAST_CHANCE = 4;
const PREFIX_LENGTH = 12;
const ORD_DIGITS = 7;
/** 96 bits: of a sum that tells apart what differs by accident. */
const SHARED_LENGTH = 16;
const URGENT = "urgent";
const CUSTOM_ID = /^([0-9A-HJKMNP-TV-Z]{12})_(\d{7})$/;

/** Length of every custom id, so that a line's size is known before its batch is. */
export const CUSTOM_ID_LENGTH: number = PREFIX_LENGTH + 1 + ORD_DIGITS;

/** Stands in for the real custom id while a line is measured. */
export const SAMPLE_CUSTOM_ID: string = `${"0".repeat(PREFIX_LENGTH)}_${"0".repeat(ORD_DIGITS)}`;

/**
 * A ULID: 48 bits of time and 80 of chance, 26 characters that sort by time. `random` gives [0, 1).
 */
export function ulid(now: number, random: () => number): string {
  const chance = (digits: number): string => crockford(random() * 32 ** digits, digits);
  return crockford(now, TIME_LENGTH) + chance(CHANCE_AT_ONCE) + chance(CHANCE_AT_ONCE) + chance(LAST_CHANCE);
}

/** The last digits of a number, as many as asked for, which must be even: it goes by two. */
function crockford(value: number, digits: number): string {
  let text = "";
  for (let left = Math.floor(value); text.length < digits; left = Math.floor(left / PAIRS.length)) {
    text = PAIRS[left % PAIRS.length] + text;
  }
  return text;
}

/** When a key was made, in milliseconds since 1970, by the clock of the process that made it. */
export function timeOfKey(key: string): number {
  return [...key.slice(0, TIME_LENGTH)].reduce((time, digit) => time * CROCKFORD.length + CROCKFORD.indexOf(digit), 0);
}

/**
 * The part of a batch's key that its custom ids carry: the last 12 characters, 60 bits of chance.
 */
export function keyPrefix(key: string): string {
  return key.slice(-PREFIX_LENGTH);
}

/** `<batchkey12>_<n>`: within `[A-Za-z0-9_-]{1,64}`, the one alphabet that every provider takes. */
export function customId(key: string, ord: number): string {
  return `${keyPrefix(key)}_${String(ord).padStart(ORD_DIGITS, "0")}`;
}

/** The prefix and place in a custom id, or null where it is not one of ours. */
export function parseCustomId(text: string): { readonly prefix: string; readonly ord: number } | null {
  const match = CUSTOM_ID.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return null;
  return { prefix: match[1], ord: Number(match[2]) };
}

/**
 * The line of an OpenAI batch file. The body's text goes in as it is: it is not parsed again. `url`
 * and `method` are ASCII; services differ in how they write them.
 */
export function openaiLine(
  { customId, endpoint, body }: LineRequest,
  url: string = endpoint,
  method: string = "POST",
): string {
  return `{"custom_id":"${customId}","method":"${method}","url":"${url}","body":${body}}\n`;
}

/**
 * Length of that line in UTF-8, where its body takes `bodyBytes`. What is around the body is ASCII.
 */
export function openaiLineBytes(request: LineRequest, bodyBytes: number, url?: string, method?: string): number {
  return openaiLine({ ...request, body: "" }, url, method).length + bodyBytes;
}

/** Length in UTF-8. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/**
 * What makes two requests with one id the same: the endpoint and the body as the caller gave it,
 * before defaults, so that new defaults do not turn a repeated enqueue into a conflict. The order
 * of keys counts. SHA-1, for half the time of SHA-256: it has to tell apart what differs by
 * accident, and a caller who makes two bodies collide harms only himself. The endpoint stands
 * beside the hash: in front of the body it would cost a copy of it.
 */
export function digestOf(endpoint: Endpoint, callerBody: string): string {
  return `${hash("sha1", callerBody, "base64url")} ${endpoint}`;
}

/**
 * Defaults under the body: the body wins, place by place; nothing is merged inside a value. Without
 * defaults it is the body itself.
 */
export function mergeDefaults(defaults: JsonObject, body: JsonObject): JsonObject {
  if (Object.keys(defaults).length === 0) return body;
  return { ...defaults, ...body };
}

/**
 * Waiting requests that may share a batch. `group` keeps the parts of a split batch apart; "" is
 * the lane proper.
 */
export interface LaneName {
  readonly endpoint: Endpoint;
  readonly group: string;
  readonly model: string;
  /** Most inputs of one request: see inputs.ts. */
  readonly inputs: number;
  /**
   * Of what its requests share beside the model, where accounts have a `groupOf`: see `sharedMark`.
   * "" elsewhere.
   */
  readonly shared: string;
  /**
   * Its requests were taken out of batches because of their deadlines: fallback accounts alone take
   * them.
   */
  readonly urgent: boolean;
}

/**
 * A lane's name as stores keep it. Endpoint and group hold no space, so the model may. After the
 * endpoint stand its marks, as far as they say anything: inputs above one, what is shared, and that
 * it is urgent.
 */
export function laneName({ endpoint, group, model, inputs, shared, urgent }: LaneName): string {
  const marks = [endpoint, inputs > 1 || shared !== "" || urgent ? inputs : "", shared, urgent ? URGENT : ""];
  return `${marks.join("#").replace(/#+$/, "")} ${group} ${model}`;
}

/**
 * A short mark for the groups that accounts, by name, put a request in: equal where these are. ""
 * where there are none.
 */
export function sharedMark(groups: readonly (readonly [account: string, group: string])[]): string {
  if (groups.length === 0) return "";
  const inOrder = groups.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash("sha1", JSON.stringify(inOrder), "base64url").slice(0, SHARED_LENGTH);
}

export function parseLane(name: string): LaneName {
  const first = name.indexOf(" ");
  const second = name.indexOf(" ", first + 1);
  const [endpoint, inputs = 1, shared = "", urgent = ""] = name.slice(0, first).split("#");
  return {
    endpoint: endpoint as Endpoint,
    group: name.slice(first + 1, second),
    model: name.slice(second + 1),
    inputs: Number(inputs),
    shared,
    urgent: urgent === URGENT,
  };
}

/** The batch as accounts know it: of its present attempt. */
export function batchName({ key, submitAttempt: attempt, lane }: BatchRow): BatchName {
  const { endpoint, model } = parseLane(lane);
  return { key, attempt, endpoint, model };
}

// Turns an enqueued request into the row to store. Pure, except for the accounts' own checks. A
// request that no provider could run is refused here with an error and never stored.

import { describe } from "../../../core/contract/errors.ts";
import type { Account } from "../../contract/account.ts";
import type { CachedPrefix } from "../../contract/cached-prefix.ts";
import { DispatchError, metadataError, tooLargeError } from "../../contract/errors.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import type { BatchLine, DispatchRequest, Endpoint, JsonObject } from "../../contract/types.ts";
import { atOnce } from "../../format/at-once.ts";
import { digestOf, laneName, parseLane, SAMPLE_CUSTOM_ID, utf8Length } from "../../format/encode.ts";
import { inputsOf, laneInputs } from "../../format/inputs.ts";
import { isJsonObject } from "../../format/json-object.ts";
import { longestLine } from "../../format/line-limits.ts";
import type { ResolvedOptions } from "../../options/resolve-options.ts";
import { reservedFor } from "../../prices/amounts.ts";
import { type Payer, payersOf } from "../../prices/max-price.ts";
import { Defaults } from "../enqueue/defaults.ts";
import { tokensOf } from "../estimate/body-tokens.ts";
import { mostOutputOf } from "../estimate/output-limit.ts";
import { withFormat } from "./answer-format.ts";
import { chatMistake } from "./chat-body.ts";
import { refuseUnknownFields } from "./request-fields.ts";
import { laneOfGroup, listed, type Route, type RouteOptions, route } from "./route.ts";
import { jsonOf } from "./strict-json.ts";

const LONGEST_ID = 256;
const BODY = "A request's `body`";
/** The latest time that a Date can hold, in ms since 1970. */
const LATEST_TIME = 8.64e15;
/** Digest of a request whose id is generated: see repeated-ids.ts. */
const NO_DIGEST = "";

/** Cached routes. More models than this occur only if a caller makes up names. */
const MOST_ROUTES = 1_000;

export type IntakeOptions = RouteOptions & Pick<ResolvedOptions, "requestDefaults" | "prices" | "maxPrice">;

/** Values for fields that the caller left out. */
export interface RequestDefaults {
  readonly id: string;
  readonly job: string;
}

/** Turns enqueued requests into rows. */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #newId: () => string;
  readonly #defaults: Defaults;
  /** All endpoints that any account lists. */
  readonly #endpoints: ReadonlySet<string>;
  readonly #prefixes: WeakMap<NewRequest, CachedPrefix> = new WeakMap();
  /** By endpoint, inputs and model. */
  readonly #routes: Map<string, Route> = new Map();
  /** The last one. Consecutive requests mostly share it. */
  #last: Route | null = null;

  /** `newId` generates an id for a request without one. */
  constructor(options: IntakeOptions, newId: () => string) {
    this.#options = options;
    this.#newId = newId;
    this.#defaults = new Defaults(options);
    this.#endpoints = new Set([...options.accounts.values()].flatMap(({ capabilities }) => capabilities.endpoints));
  }

  /**
   * Checks one request or batch line and returns its row. A default id counts as the caller's own.
   * A body that OpenAI's types refuse goes to `refused`, which by default throws the error.
   */
  rowOf(
    given: DispatchRequest | BatchLine,
    defaults?: RequestDefaults,
    refused: (row: NewRequest, error: DispatchError) => void = throwRefusal,
  ): NewRequest {
    if (!isJsonObject(given)) throw invalid(`A request must be an object with a \`body\`, got ${describe(given)}.`);
    const isLine = "custom_id" in given;
    const request = isLine ? fromLine(given as BatchLine) : (given as DispatchRequest);
    refuseUnknownFields(given, isLine);
    if (!isJsonObject(request.body))
      throw invalid(`A request's \`body\` must be a JSON object, got ${describe(request.body)}.`);
    const givenId = checkId(request.id ?? defaults?.id);
    const id = givenId ?? this.#newId();
    const endpoint = endpointOf(request, this.#endpoints);
    const callerBody = jsonOf(request.body, BODY);
    const merged = this.#mergedBody(given, endpoint, id);
    const body = merged === request.body ? callerBody : jsonOf(merged, BODY);
    const inputs = endpoint === "/v1/embeddings" ? inputsOf(merged.input) : 1;
    const found = this.#routeOf(endpoint, merged.model, inputs, id);
    const { accounts, isChecked, mostBytes, mostTokens, mostInputs } = found;
    const mistake = isChecked ? chatMistake(merged) : null;
    if (mistake !== null && refused === throwRefusal) throw refusal(mistake);
    const bodyBytes = utf8Length(body);
    const tokens = tokensOf(merged, bodyBytes === body.length);
    if (mistake === null) for (const one of accounts) atOnce(one, "checkBody", one.checkBody(endpoint, merged));
    const lane = laneOfGroup(found, merged);
    const bytes = longestLine(accounts, { customId: SAMPLE_CUSTOM_ID, endpoint, body }, bodyBytes);
    if (bytes > mostBytes) throw tooLargeError("bytes", bytes, mostBytes);
    if (tokens > mostTokens) throw tooLargeError("tokens", tokens, mostTokens);
    if (inputs > mostInputs) throw tooLargeError("inputs", inputs, mostInputs);
    const { priority, tenant, job, deadlineAt } = checkOptional(request, defaults?.job);
    const digest = givenId === undefined ? NO_DIGEST : digestOf(endpoint, callerBody);
    const metadata = metadataOf(request.metadata);
    const fields = { id, digest, lane, priority, tenant, job, deadlineAt, bytes, tokens, metadata, body };
    const payers = payersOf(this.#options.maxPrice, tenant, job);
    const row = payers.length === 0 ? new Row(fields) : this.paid(fields, namesOf(payers), merged);
    if (mistake !== null) refused(row, refusal(mistake));
    else this.#keepPrefix(row, found.caching, endpoint, merged);
    return row;
  }

  /** The body with its defaults, and with the schema of the answer. */
  #mergedBody(given: DispatchRequest | BatchLine, endpoint: Endpoint, id: string): JsonObject {
    const body = this.#defaults.bodyOf(given, endpoint);
    if ((this.#options.check?.jsonSchema ?? null) === null || "custom_id" in given) return body;
    const { format } = this.#routeOf(endpoint, body.model, 1, id);
    return format === null ? body : withFormat(endpoint, body, format);
  }

  /** The row of a request that counts against limits of price. `body`: with defaults. */
  paid(row: NewRequest, payers: readonly string[], body: JsonObject): NewRequest {
    const place = { ...parseLane(row.lane), payers };
    const { endpoint, model } = place;
    const use = { tokens: row.tokens, mostOutput: mostOutputOf(endpoint, body), model };
    const price = reservedFor(use, this.#options.prices);
    if (price === null) throw invalid(noPrice(model));
    return new Row({ ...row, lane: laneName(place), price });
  }

  /** The cached prefix of a row that `rowOf` made; undefined if it has none. */
  prefixOf(row: NewRequest): CachedPrefix | undefined {
    return this.#prefixes.get(row);
  }

  #keepPrefix(row: NewRequest, caching: Account | null, endpoint: Endpoint, body: JsonObject): void {
    if (caching === null) return;
    const prefix = atOnce(caching, "cachedPrefix", caching.cachedPrefix?.(endpoint, body)) ?? null;
    if (prefix !== null) this.#prefixes.set(row, prefix);
  }

  #routeOf(endpoint: Endpoint, model: unknown, given: number, id: string): Route {
    const last = this.#last;
    const inputs = laneInputs(given);
    if (last !== null && last.model === model && last.endpoint === endpoint && last.inputs === inputs) return last;
    const name = checkModel(model, id);
    const key = `${endpoint} ${inputs} ${name}`;
    const next = this.#routes.get(key) ?? route(this.#options, endpoint, name, inputs);
    if (this.#routes.size >= MOST_ROUTES) this.#routes.clear();
    this.#routes.set(key, next);
    this.#last = next;
    return next;
  }
}

/**
 * A class instead of a literal: V8 learns which literals outlive a collection and then allocates
 * them among old objects. There each row would keep its body until the next full collection.
 */
class Row implements NewRequest {
  readonly id: string;
  readonly digest: string;
  readonly lane: string;
  readonly priority: number;
  readonly tenant: string;
  readonly job: string;
  readonly deadlineAt: number | null;
  readonly bytes: number;
  readonly tokens: number;
  readonly metadata: string | null;
  readonly body: string;
  readonly price: number;

  constructor(row: NewRequest) {
    this.id = row.id;
    this.digest = row.digest;
    this.lane = row.lane;
    this.priority = row.priority;
    this.tenant = row.tenant;
    this.job = row.job;
    this.deadlineAt = row.deadlineAt;
    this.bytes = row.bytes;
    this.tokens = row.tokens;
    this.metadata = row.metadata;
    this.body = row.body;
    this.price = row.price ?? 0;
  }
}

/** The same row in another lane. */
export function inLane(row: NewRequest, lane: string): NewRequest {
  return new Row({ ...row, lane });
}

function fromLine(line: BatchLine): DispatchRequest {
  if (line.method !== "POST") throw invalid('A batch line\'s `method` must be "POST".');
  if (typeof line.custom_id !== "string") throw invalid("A batch line's `custom_id` must be a string.");
  return { id: line.custom_id, endpoint: line.url as Endpoint, body: line.body };
}

function checkId(id: unknown): string | undefined {
  if (id === undefined) return undefined;
  if (typeof id === "string" && id.length >= 1 && id.length <= LONGEST_ID) return storable("`id`", id);
  throw invalid(`A request's \`id\` must be a string of 1 to ${LONGEST_ID} characters.`);
}

/** The request's endpoint. Some services leave "/v1" out of batch files. */
function endpointOf({ endpoint, body }: DispatchRequest, endpoints: ReadonlySet<string>): Endpoint {
  if (endpoint !== undefined) {
    if (endpoints.has(endpoint)) return endpoint;
    if (endpoints.has(`/v1${endpoint}`)) return `/v1${endpoint}`;
    const message = `The endpoint "${String(endpoint)}" is not one of those that the accounts have`;
    throw new DispatchError("UNKNOWN_ENDPOINT", `${message}: ${listed(endpoints)}.`);
  }
  if (body.messages !== undefined) return "/v1/chat/completions";
  if (body.input !== undefined) return "/v1/embeddings";
  const message = "A body with neither `messages` nor `input` needs an `endpoint`";
  throw new DispatchError("UNKNOWN_ENDPOINT", `${message}. The accounts have ${listed(endpoints)}.`);
}

function checkModel(model: unknown, id: string): string {
  if (typeof model === "string" && model !== "") {
    checkName("model", model);
    return model;
  }
  throw new DispatchError(
    "MISSING_MODEL",
    `The request "${id}" names no model: give its body a \`model\`, or \`requestDefaults\` one, which a batch line does not get.`,
  );
}

function checkOptional(
  request: DispatchRequest,
  defaultJob = "",
): Pick<NewRequest, "priority" | "tenant" | "job" | "deadlineAt"> {
  const { priority = 0, tenant = "", job = defaultJob, deadlineAt = null } = request;
  if (!Number.isSafeInteger(priority)) throw invalid("A request's `priority` must be a whole number.");
  checkName("`tenant`", tenant);
  checkName("`job`", job);
  if (deadlineAt !== null && !(Number.isFinite(deadlineAt) && deadlineAt >= 0 && deadlineAt <= LATEST_TIME)) {
    throw invalid("A request's `deadlineAt` must be a time in milliseconds since 1970, before the year 275760.");
  }
  return { priority, tenant, job, deadlineAt: deadlineAt === null ? null : Math.floor(deadlineAt) };
}

/** Throws for a long text: stores index these columns. */
function checkName(what: string, name: unknown): void {
  if (typeof name !== "string") throw invalid(`A request's ${what} must be a string.`);
  if (name.length > LONGEST_ID) {
    throw invalid(`A request's ${what} must have at most ${LONGEST_ID} characters, got ${name.length}.`);
  }
  storable(what, name);
}

/** In bytes of JSON. */
const MOST_METADATA_BYTES = 16_384;

function metadataOf(metadata: DispatchRequest["metadata"]): string | null {
  if (metadata === undefined) return null;
  if (isJsonObject(metadata) && Object.values(metadata).every((value) => typeof value === "string")) {
    const text = JSON.stringify(metadata);
    if (utf8Length(text) > MOST_METADATA_BYTES) throw metadataError(utf8Length(text), MOST_METADATA_BYTES);
    return text;
  }
  throw invalid("A request's `metadata` must be an object of strings.");
}

/**
 * Throws for a NUL character or half a surrogate pair, which some databases refuse. JSON texts such
 * as bodies have both escaped.
 */
function storable(what: string, text: string): string {
  if (text.includes("\0")) throw invalid(`A request's ${what} must not have a NUL character in it.`);
  if (/\p{Surrogate}/u.test(text)) throw invalid(`A request's ${what} must be Unicode: it has half a surrogate pair.`);
  return text;
}

function throwRefusal(_row: NewRequest, error: DispatchError): void {
  throw error;
}

function namesOf(payers: readonly Payer[]): string[] {
  return payers.map(({ name }) => name);
}

function noPrice(model: string): string {
  const what = `The model "${model}" has no price, so its requests cannot count against \`maxPrice\``;
  return `${what}: add it, \`prices: { ...defaultPrices, "${model}": { input, output } }\`, in US dollars per million tokens.`;
}

function refusal(mistake: string): DispatchError {
  const way = "`checkBodies: false` of the account lets it pass, where its service takes it";
  return invalid(`The request cannot be sent: ${mistake}. ${way}.`);
}

function invalid(message: string): DispatchError {
  return new DispatchError("INVALID_REQUEST", message);
}

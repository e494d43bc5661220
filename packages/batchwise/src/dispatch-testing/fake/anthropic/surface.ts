// The Anthropic surface of the fake: /v1/messages/batches. Items travel in the create. One bad
// custom id refuses the whole create; an item's params are checked only when it runs. There are no
// tags and no idempotency.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { BatchBook, type Entry, type FakeBatch, foreignEntries } from "../batch-book.ts";
import { bytesReply, type Exchange, jsonReply, Refusal, type Reply } from "../exchange.ts";
import type { FakeOperation } from "../fault-types.ts";
import { isObject } from "../openai/lines.ts";
import type { Settings } from "../settings.ts";
import type { Route, Surface } from "../surface.ts";
import { isOver } from "../timeline.ts";
import type { FakeAnswer, FakeLine } from "../types.ts";
import { errorType } from "./error-type.ts";
import { paramsFault } from "./params.ts";
import { PromptCache } from "./prompt-cache.ts";
import { type AnthropicExtra, renderMessageBatch, renderMessageResults } from "./render.ts";

const HOUR = 3_600_000;
const WINDOW_MS = 24 * HOUR;
const MOST_LISTED = 1_000;
const CUSTOM_ID = /^[A-Za-z0-9_-]{1,64}$/;
const ENDPOINT = "/v1/messages";

const ROUTES: Readonly<Record<string, FakeOperation>> = {
  POST: "messages.create",
  GET: "messages.list",
  "GET id": "messages.retrieve",
  "DELETE id": "messages.delete",
  "POST id/cancel": "messages.cancel",
  "GET id/results": "messages.results",
};

export class AnthropicSurface implements Surface {
  readonly name = "anthropic";
  readonly book: BatchBook<AnthropicExtra>;
  readonly #settings: Settings;
  readonly #cache: PromptCache;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.book = new BatchBook(settings, { failsWhole: false, check });
    this.#cache = new PromptCache(this.book);
  }

  route(method: string, path: string): Route | null {
    const match = /^\/v1\/messages\/batches(?:\/([^/]+))?(?:\/(cancel|results))?$/.exec(path);
    if (match === null) return null;
    const [, id, action] = match;
    const operation = ROUTES[`${method}${id === undefined ? "" : " id"}${action === undefined ? "" : `/${action}`}`];
    return operation === undefined ? null : { operation, id: decodeURIComponent(id ?? "") };
  }

  run(operation: FakeOperation, id: string, exchange: Exchange): Reply {
    checkHeaders(exchange.headers);
    const origin = `http://${exchange.headers.get("host") ?? "127.0.0.1"}`;
    const show = (batch: FakeBatch<AnthropicExtra>): JsonObject => this.#render(batch, origin);
    switch (operation) {
      case "messages.create":
        return jsonReply(show(this.#create(exchange.body)));
      case "messages.list":
        return jsonReply(this.#list(exchange.query, show));
      case "messages.cancel":
        return jsonReply(show(this.#cancel(this.#batch(id))));
      case "messages.results":
        return this.#results(this.#batch(id));
      case "messages.delete":
        return jsonReply(this.#delete(this.#batch(id)));
      default:
        return jsonReply(show(this.#batch(id)));
    }
  }

  refused({ status, message, headers }: Refusal): Reply {
    return jsonReply({ type: "error", error: { type: errorType(status), message }, request_id: null }, status, headers);
  }

  addForeign(requests: number): void {
    const id = this.#nextId();
    this.#add(id, foreignEntries(id, ENDPOINT, requests), "foreign", true);
  }

  #create(body: Uint8Array): FakeBatch<AnthropicExtra> {
    const { maxBodyBytes, maxItems, enqueuedItems, createsPerHour } = this.#settings.limits;
    if (body.length > maxBodyBytes) throw new Refusal(413, "request_too_large", "Request exceeds the maximum size");
    const requests = parseRequests(body);
    if (requests.length > maxItems) throw invalid(`requests: at most ${maxItems} items are allowed`);
    const seen = new Set<string>();
    const entries = requests.map((request, index) => this.#entry(request, index, seen));
    const busy = this.book.createdSince(this.#settings.now() - HOUR) >= createsPerHour;
    if (busy || this.book.enqueued(null).items + entries.length > enqueuedItems) {
      const message = "This request would exceed your organization's limit of batch requests in the processing queue.";
      throw new Refusal(429, "rate_limit_error", message, { headers: { "retry-after": "60" } });
    }
    const first = requests[0]?.params as JsonObject;
    return this.#add(this.#nextId(), entries, String(first.model), false);
  }

  #entry(request: JsonObject, index: number, seen: Set<string>): Entry {
    const { custom_id: customId, params } = request;
    if (typeof customId !== "string" || !CUSTOM_ID.test(customId)) {
      throw invalid(`requests.${index}.custom_id: String should match pattern '${CUSTOM_ID.source}'`);
    }
    if (seen.has(customId)) throw invalid(`requests.${index}.custom_id: Must be unique: ${customId}`);
    seen.add(customId);
    if (!isObject(params)) throw invalid(`requests.${index}.params: Field required`);
    const identity = this.#settings.identify({ customId, endpoint: ENDPOINT, body: params });
    return { customId, identity, endpoint: ENDPOINT, body: JSON.stringify(params) };
  }

  #add(id: string, entries: readonly Entry[], model: string, foreign: boolean): FakeBatch<AnthropicExtra> {
    const extra = { windowMs: WINDOW_MS };
    return this.book.add({ id, model, tokens: 0, entries, windowMs: WINDOW_MS, faults: [], foreign, extra });
  }

  #nextId(): string {
    return `msgbatch_${this.#settings.mark}${String(this.book.size + 1).padStart(8, "0")}`;
  }

  #cancel(batch: FakeBatch<AnthropicExtra>): FakeBatch<AnthropicExtra> {
    if (isOver(this.book.moment(batch).phase)) throw invalid("Batch cannot be canceled because it has already ended.");
    return this.book.cancel(batch);
  }

  #results(batch: FakeBatch<AnthropicExtra>): Reply {
    if (this.#render(batch, "").results_url === null) {
      throw new Refusal(404, "not_found_error", "The results of this batch are not available.");
    }
    const content = renderMessageResults(this.#cache.endings(batch), this.book.moment(batch).phase);
    return bytesReply(content, "application/x-jsonl");
  }

  #delete(batch: FakeBatch<AnthropicExtra>): JsonObject {
    if (!isOver(this.book.moment(batch).phase)) throw invalid("Batch cannot be deleted while it is processing.");
    this.book.hide(batch.id);
    return { id: batch.id, type: "message_batch_deleted" };
  }

  #list(query: URLSearchParams, show: (batch: FakeBatch<AnthropicExtra>) => JsonObject): JsonObject {
    const limit = Number(query.get("limit") ?? 20);
    if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED) throw invalid("limit: range: 1..1000");
    const rows = this.book.listed();
    const [after, before] = [query.get("after_id"), query.get("before_id")];
    const place = (id: string): number => {
      const found = rows.findIndex((row) => row.id === id);
      if (found < 0) throw invalid(`No batch with id ${id}`);
      return found;
    };
    const end = before === null ? rows.length : place(before);
    const from = before === null ? (after === null ? 0 : place(after) + 1) : Math.max(0, end - limit);
    const data = rows.slice(from, Math.min(end, from + limit));
    const more = before === null ? from + limit < rows.length : from > 0;
    return { data: data.map(show), has_more: more, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  }

  #render(batch: FakeBatch<AnthropicExtra>, origin: string): JsonObject {
    const { book } = this;
    return renderMessageBatch(batch, book.moment(batch), book.counts(batch), origin, this.#settings.now());
  }

  #batch(id: string): FakeBatch<AnthropicExtra> {
    const batch = this.book.get(id);
    if (batch === undefined) throw new Refusal(404, "not_found_error", `Batch ${id} not found.`);
    return batch;
  }
}

function check({ body }: FakeLine): FakeAnswer | null {
  const message = paramsFault(body);
  return message === null ? null : { status: 400, body: { error: { type: "invalid_request_error", message } } };
}

function checkHeaders(headers: Headers): void {
  if (headers.get("x-api-key") === null && headers.get("authorization") === null) {
    throw new Refusal(401, "authentication_error", "x-api-key header is required");
  }
  if (headers.get("anthropic-version") === null) throw invalid("anthropic-version: header is required");
}

function parseRequests(body: Uint8Array): readonly JsonObject[] {
  let parsed: Json;
  try {
    parsed = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
  } catch {
    throw invalid("The request body is not valid JSON.");
  }
  const requests = isObject(parsed) ? parsed.requests : undefined;
  if (!Array.isArray(requests) || requests.length === 0) throw invalid("requests: at least one item is required");
  if (!requests.every(isObject)) throw invalid("requests: each item must be an object");
  return requests;
}

function invalid(message: string): Refusal {
  return new Refusal(400, "invalid_request_error", message);
}

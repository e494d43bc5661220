// The OpenAI surface of the fake: /v1/files and /v1/batches, also below /openai, as Azure and Groq
// have them. Like OpenAI, it refuses some faults at once and fails the batch later for others.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { BatchBook, type FakeBatch, foreignEntries } from "../batch-book.ts";
import { bytesReply, type Exchange, jsonReply, Refusal, type Reply } from "../exchange.ts";
import type { FakeOperation } from "../fault-types.ts";
import { expiryOf, FileShelf, type StoredFile } from "../file-shelf.ts";
import type { Settings } from "../settings.ts";
import type { Route, Surface } from "../surface.ts";
import { isOver } from "../timeline.ts";
import { hasEndpoint, hasWindow } from "./endpoints.ts";
import { checkFile, isObject } from "./lines.ts";
import * as render from "./render.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export class OpenAiSurface implements Surface {
  readonly name = "openai";
  readonly book: BatchBook<render.OpenAiExtra>;
  readonly #files: FileShelf;
  readonly #settings: Settings;
  /** Ids of deleted result files. */
  readonly #deleted: Set<string> = new Set();

  constructor(settings: Settings) {
    this.#settings = settings;
    this.book = new BatchBook(settings, { failsWhole: true, check: () => null });
    this.#files = new FileShelf(settings);
  }

  route(method: string, path: string): Route | null {
    if (this.#settings.dialect === "together") {
      const own = routeOfTogether(method, path);
      if (own !== null) return own;
    }
    const match = /^(?:\/openai)?(?:\/v1)?\/(files|batches)(?:\/([^/]+))?(?:\/(content|cancel))?$/.exec(path);
    if (match === null) return null;
    const [, kind, id, action] = match;
    const call = `${method} ${kind}${id === undefined ? "" : "/id"}${action === undefined ? "" : `/${action}`}`;
    const operation = ROUTES[call];
    return operation === undefined ? null : { operation, id: decodeURIComponent(id ?? "") };
  }

  run(operation: FakeOperation, id: string, exchange: Exchange): Reply {
    if (operation === "files.put") {
      this.#files.put(id, exchange);
      return bytesReply(new Uint8Array(), "text/plain");
    }
    if (!/^Bearer \S+/.test(exchange.headers.get("authorization") ?? "") && exchange.headers.get("api-key") === null) {
      throw new Refusal(401, "invalid_api_key", "You didn't provide an API key.");
    }
    switch (operation) {
      case "files.create":
        return this.#upload(exchange);
      case "files.list":
        return jsonReply(this.#page(this.#files.listed(), exchange.query, 10_000, (file) => this.#files.render(file)));
      case "files.retrieve":
        return jsonReply(this.#files.render(this.#file(id)));
      case "files.content":
        return bytesReply(this.#file(id).content, "application/octet-stream");
      case "files.delete":
        this.#file(id);
        if (!this.#files.delete(id)) this.#deleted.add(id);
        return jsonReply({ id, object: "file", deleted: true });
      case "batches.create":
        return jsonReply(this.#created(this.#create(exchange)));
      case "batches.list":
        return jsonReply(this.#listBatches(exchange.query));
      case "batches.cancel":
        return jsonReply(this.#render(this.#cancel(this.#batch(id))));
      default:
        return jsonReply(this.#render(this.#batch(id)));
    }
  }

  refused({ status, code, message, param, headers }: Refusal): Reply {
    const type = status >= 500 ? "server_error" : "invalid_request_error";
    return jsonReply({ error: { message, type, param, code } }, status, headers);
  }

  addForeign(requests: number): void {
    const endpoint = "/v1/chat/completions";
    const id = this.#nextId();
    const entries = foreignEntries(id, endpoint, requests);
    const extra = { endpoint, inputFileId: `file-of-${id}`, window: "24h", metadata: null, keptMs: Infinity };
    this.book.add({ id, model: "foreign", tokens: 0, entries, windowMs: DAY, faults: [], foreign: true, extra });
  }

  #upload(exchange: Exchange): Reply {
    const { dialect, uploads } = this.#settings;
    if (dialect !== "together" || uploads === "direct")
      return jsonReply(this.#files.render(this.#files.upload(exchange)));
    const { id } = this.#files.announce(exchange);
    const location = `http://${exchange.headers.get("host")}/storage/${id}`;
    return {
      ...bytesReply(new Uint8Array(), "text/plain"),
      status: 302,
      headers: { location, "x-together-file-id": id },
    };
  }

  #create(exchange: Exchange): FakeBatch<render.OpenAiExtra> {
    const wanted = parseBody(exchange.body);
    const { input_file_id: fileId, endpoint, completion_window: window } = wanted;
    if (typeof fileId !== "string") throw missing("input_file_id");
    if (typeof endpoint !== "string" || !hasEndpoint(this.#settings.dialect, endpoint))
      throw invalid("endpoint", endpoint);
    if (typeof window !== "string" || !hasWindow(this.#settings.dialect, window))
      throw invalid("completion_window", window);
    const metadata = checkMetadata(wanted.metadata);
    const { anchor, seconds } = (wanted.output_expires_after ?? {}) as {
      readonly anchor?: Json;
      readonly seconds?: Json;
    };
    const keptMs = (expiryOf(anchor, seconds) ?? Number.POSITIVE_INFINITY) * 1000;
    if (this.book.createdSince(this.#settings.now() - HOUR) >= this.#settings.limits.createsPerHour) {
      throw new Refusal(429, "rate_limit_exceeded", "Too many batches were created in the last hour.", {
        headers: { "retry-after": "60" },
      });
    }
    const file = this.#files.get(fileId);
    if (file === undefined) throw new Refusal(404, "not_found", `No such File object: ${fileId}`, { param: "id" });
    if (this.#files.isPending(file)) throw this.#notReady();
    const checked = checkFile(file.content, endpoint, this.#settings, this.#paramsOf(wanted));
    const windowMs = this.#settings.dialect === "azure" ? Number.POSITIVE_INFINITY : spanOf(window);
    const extra = { endpoint, inputFileId: fileId, window, metadata, keptMs };
    return this.book.add({ ...checked, id: this.#nextId(), windowMs, foreign: false, extra });
  }

  #notReady(): Refusal {
    if (this.#settings.dialect === "voyage") return new Refusal(404, "not_found", "Input file not found");
    return new Refusal(400, "invalid_file", "File is not ready.");
  }

  /** Voyage takes the model and its parameters with the create. */
  #paramsOf({ request_params: params }: JsonObject): JsonObject | null {
    if (this.#settings.dialect !== "voyage") {
      if (params !== undefined) throw invalid("request_params", params);
      return null;
    }
    if (!isObject(params) || typeof params.model !== "string") throw missing("request_params.model");
    return params;
  }

  #nextId(): string {
    return `batch_${this.#settings.mark}${String(this.book.size + 1).padStart(8, "0")}`;
  }

  #created(batch: FakeBatch<render.OpenAiExtra>): JsonObject {
    const shown = this.#render(batch);
    return this.#settings.dialect === "together" ? { job: shown, warning: "" } : shown;
  }

  #cancel(batch: FakeBatch<render.OpenAiExtra>): FakeBatch<render.OpenAiExtra> {
    const { phase } = this.book.moment(batch);
    if ((isOver(phase) || phase === "finalizing") && phase !== "cancelled") {
      throw new Refusal(409, "conflict", `Cannot cancel a batch with status '${phase}'.`, {
        headers: { "x-should-retry": "false" },
      });
    }
    return this.book.cancel(batch);
  }

  #listBatches(query: URLSearchParams): Json {
    const plain = this.#settings.dialect === "together";
    if (plain) return this.book.listed().map((batch) => this.#render(batch));
    if (this.#settings.dialect === "groq") {
      return { object: "list", data: this.book.listed().map((batch) => this.#render(batch)) };
    }
    return this.#page(this.book.listed(), query, 100, (batch) => this.#render(batch));
  }

  #page<Row extends { readonly id: string }>(
    rows: readonly Row[],
    query: URLSearchParams,
    most: number,
    show: (row: Row) => JsonObject,
  ): JsonObject {
    const limit = Number(query.get("limit") ?? Math.min(20, most));
    if (!Number.isInteger(limit) || limit < 1 || limit > most) throw invalid("limit", query.get("limit"));
    const after = query.get("after");
    const from = after === null ? 0 : rows.findIndex(({ id }) => id === after) + 1;
    if (after !== null && from === 0) throw invalid("after", after);
    const data = rows.slice(from, from + limit).map(show);
    return {
      object: "list",
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: from + limit < rows.length,
    };
  }

  #render(batch: FakeBatch<render.OpenAiExtra>): JsonObject {
    const shown = { moment: this.book.moment(batch), counts: this.book.counts(batch), now: this.#settings.now() };
    return render.renderBatch(batch, shown, this.#settings.dialect);
  }

  #batch(id: string): FakeBatch<render.OpenAiExtra> {
    const batch = this.book.get(id);
    if (batch === undefined) throw new Refusal(404, "not_found", `No batch found with id '${id}'.`);
    return batch;
  }

  #file(id: string): StoredFile {
    const file = this.#files.get(id) ?? this.#resultFile(id);
    if (file === undefined) throw new Refusal(404, "not_found", `No such File object: ${id}`, { param: "id" });
    return file;
  }

  #resultFile(id: string): StoredFile | undefined {
    const parsed = render.parseResultFileId(id);
    const batch = parsed === null ? undefined : this.book.get(parsed.batchId);
    if (parsed === null || batch === undefined) return undefined;
    const moment = this.book.moment(batch);
    const files = render.resultFiles(batch, moment, this.book.counts(batch), this.#settings.now());
    if (files.output_file_id !== id && files.error_file_id !== id) return undefined;
    const createdAt = moment.endedAt ?? 0;
    const keptMs = Math.min(batch.extra.keptMs, this.#settings.fileRetentionMs);
    if (this.#deleted.has(id) || this.#settings.now() >= createdAt + keptMs) return undefined;
    const content = render.renderResults(this.book.endings(batch), parsed.kind, moment.phase);
    return { id, name: `${id}.jsonl`, purpose: "batch_output", content, createdAt, expiresAt: null };
  }
}

const ROUTES: Readonly<Record<string, FakeOperation>> = {
  "POST files": "files.create",
  "GET files": "files.list",
  "GET files/id": "files.retrieve",
  "GET files/id/content": "files.content",
  "DELETE files/id": "files.delete",
  "POST batches": "batches.create",
  "GET batches": "batches.list",
  "GET batches/id": "batches.retrieve",
  "POST batches/id/cancel": "batches.cancel",
};

/** Routes of an upload with a redirect, and of the storage that takes the file. */
function routeOfTogether(method: string, path: string): Route | null {
  if (method === "POST" && path === "/v1/files/upload") return { operation: "files.create", id: "" };
  const stored = /^\/storage\/([^/]+)$/.exec(path)?.[1];
  if (method === "PUT" && stored !== undefined) return { operation: "files.put", id: stored };
  const announced = /^\/v1\/files\/([^/]+)\/preprocess$/.exec(path)?.[1];
  return method === "POST" && announced !== undefined ? { operation: "files.retrieve", id: announced } : null;
}

function parseBody(body: Uint8Array): JsonObject {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    if (isObject(value)) return value;
  } catch {
    throw new Refusal(400, "invalid_json", "The body is not JSON.");
  }
  throw new Refusal(400, "invalid_request", "Expected a JSON object.");
}

function checkMetadata(value: Json | undefined): JsonObject | null {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) throw invalid("metadata", value);
  const pairs = Object.entries(value);
  const fits = pairs.every(([key, text]) => key.length <= 64 && typeof text === "string" && text.length <= 512);
  if (pairs.length > 16 || !fits) throw invalid("metadata", value);
  return value;
}

function spanOf(window: string): number {
  return Number.parseInt(window, 10) * (window.endsWith("d") ? DAY : HOUR);
}

function missing(param: string): Refusal {
  return new Refusal(400, "missing_required_parameter", `Missing required parameter: '${param}'.`, { param });
}

function invalid(param: string, value: Json | undefined): Refusal {
  return new Refusal(400, "invalid_value", `Invalid value for '${param}': ${JSON.stringify(value) ?? "undefined"}.`, {
    param,
  });
}

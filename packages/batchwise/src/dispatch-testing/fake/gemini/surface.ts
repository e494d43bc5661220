// The Gemini surface of the fake: batches below /v1beta, inline or from a file, and the Files API.
// Creating is not idempotent. A batch takes at most 48 hours; if it expires or is cancelled, it
// gives no results.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { estimateTokens } from "../../../tokens/estimate-tokens.ts";
import { BatchBook, type Entry, type FakeBatch, foreignEntries } from "../batch-book.ts";
import { bytesReply, type Exchange, jsonReply, Refusal, type Reply } from "../exchange.ts";
import type { FakeOperation } from "../fault-types.ts";
import { isObject } from "../openai/lines.ts";
import type { Settings } from "../settings.ts";
import type { Route, Surface } from "../surface.ts";
import { isOver } from "../timeline.ts";
import type { FakeAnswer, FakeLine, FakeLineFault } from "../types.ts";
import { GeminiFiles } from "./files.ts";
import { type GeminiItem, itemOfLine, itemsOf } from "./items.ts";
import { geminiFault, strangeName } from "./params.ts";
import { type GeminiExtra, renderGeminiResult, renderOperation, renderRefusal } from "./render.ts";

const WINDOW_MS = 48 * 3_600_000;
const MOST_LISTED = 100;
const GENERATE = "/v1beta/generateContent";
const EMBED = "/v1beta/embedContent";
const PATH =
  /^\/(upload\/|download\/)?v1beta\/(files|batches|models)(?:\/([^/:]+))?(?::(cancel|download|batchGenerateContent|asyncBatchEmbedContent))?$/;

const ROUTES: Readonly<Record<string, FakeOperation>> = {
  "POST models/id:batchGenerateContent": "gemini.create",
  "POST models/id:asyncBatchEmbedContent": "gemini.create",
  "GET batches": "gemini.list",
  "GET batches/id": "gemini.retrieve",
  "POST batches/id:cancel": "gemini.cancel",
  "DELETE batches/id": "gemini.delete",
  "POST upload/files": "geminiFiles.upload",
  "GET files": "geminiFiles.list",
  "GET files/id": "geminiFiles.retrieve",
  "GET files/id:download": "geminiFiles.content",
  "GET download/files/id:download": "geminiFiles.content",
  "DELETE files/id": "geminiFiles.delete",
};

interface NewWork {
  readonly entries: readonly Entry[];
  readonly faults: readonly FakeLineFault[];
  readonly tokens: number;
}

export class GeminiSurface implements Surface {
  readonly name = "gemini";
  readonly book: BatchBook<GeminiExtra>;
  readonly #settings: Settings;
  readonly #files: GeminiFiles;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#files = new GeminiFiles(settings);
    this.book = new BatchBook(settings, { failsWhole: true, check });
  }

  route(method: string, path: string): Route | null {
    const match = PATH.exec(path);
    if (match === null) return null;
    const [, prefix = "", kind, id, action] = match;
    const call = `${method} ${prefix}${kind}${id === undefined ? "" : "/id"}${action === undefined ? "" : `:${action}`}`;
    const operation = ROUTES[call];
    if (operation === undefined) return null;
    return { operation, id: `${decodeURIComponent(id ?? "")}${action === "asyncBatchEmbedContent" ? ":embed" : ""}` };
  }

  run(operation: FakeOperation, id: string, exchange: Exchange): Reply {
    const isChunk = exchange.query.get("upload_id") !== null;
    if (exchange.headers.get("x-goog-api-key") === null && !isChunk) {
      throw new Refusal(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.");
    }
    switch (operation) {
      case "gemini.create":
        return jsonReply(this.#show(this.#create(id, exchange.body)));
      case "gemini.list":
        return jsonReply(page(this.book.listed(), exchange.query, "operations", (batch) => this.#show(batch)));
      case "gemini.cancel":
        return this.#cancel(this.#batch(id));
      case "gemini.delete":
        this.book.hide(this.#batch(id).id);
        return jsonReply({});
      case "gemini.retrieve":
        return jsonReply(this.#show(this.#batch(id)));
      default:
        return this.#runFile(operation, id, exchange);
    }
  }

  #runFile(operation: FakeOperation, id: string, exchange: Exchange): Reply {
    if (operation === "geminiFiles.upload") return this.#files.upload(exchange);
    if (operation === "geminiFiles.list") {
      return jsonReply(page(this.#files.listed(), exchange.query, "files", (file) => this.#files.render(file)));
    }
    const file = this.#files.get(id);
    if (operation === "geminiFiles.content") {
      if (file !== undefined) throw invalid("Only generated files can be downloaded.");
      return bytesReply(this.#results(id), "application/jsonl");
    }
    if (file === undefined) throw noFile(id);
    if (operation === "geminiFiles.retrieve") return jsonReply(this.#files.render(file));
    this.#files.delete(id);
    return jsonReply({});
  }

  refused(refusal: Refusal): Reply {
    return renderRefusal(refusal);
  }

  addForeign(requests: number): void {
    const work = { entries: foreignEntries(this.#nextId(), GENERATE, requests), faults: [], tokens: 0 };
    this.#add(work, "foreign", { displayName: "somebody else's", isEmbedding: false, isFile: false }, true);
  }

  #create(id: string, body: Uint8Array): FakeBatch<GeminiExtra> {
    const { models, limits } = this.#settings;
    if (body.length > limits.maxCreateBytes) {
      throw invalid(`Request payload size exceeds the limit: ${limits.maxCreateBytes} bytes.`);
    }
    const isEmbedding = id.endsWith(":embed");
    const model = isEmbedding ? id.slice(0, -":embed".length) : id;
    if (models !== null && !models.includes(model)) {
      throw new Refusal(404, "NOT_FOUND", `models/${model} is not found for API version v1beta.`);
    }
    const batch = parse(body).batch;
    const { displayName, inputConfig, priority, webhookConfig } = isObject(batch) ? batch : {};
    checkExtras(priority, webhookConfig);
    if (typeof displayName !== "string" || displayName === "") throw invalid("batch.display_name: required");
    const { fileName, file_name: sameFile, requests } = isObject(inputConfig) ? inputConfig : {};
    const file = fileName ?? sameFile;
    if ((file === undefined) === (requests === undefined)) throw invalid("batch.input_config: one source is required");
    const work = file === undefined ? this.#inlineWork(requests, isEmbedding) : this.#fileWork(file, isEmbedding);
    this.#checkRoom(model, work.tokens);
    return this.#add(work, model, { displayName, isEmbedding, isFile: file !== undefined }, false);
  }

  #inlineWork(requests: Json | undefined, isEmbedding: boolean): NewWork {
    const items = itemsOf(requests);
    for (const { request } of items) {
      const strange = strangeName(request, isEmbedding);
      if (strange !== null)
        throw invalid(`Invalid JSON payload received. Unknown name "${strange}": Cannot find field.`);
    }
    return { entries: items.map((item) => this.#entry(item, isEmbedding)), faults: [], tokens: tokensOf(items) };
  }

  /**
   * The work of a file. An unreadable line fails the batch later; an invalid request fails only
   * itself when it runs.
   */
  #fileWork(name: Json | undefined, isEmbedding: boolean): NewWork {
    const id = String(name).replace(/^files\//, "");
    const file = this.#files.get(id);
    if (file === undefined) throw noFile(id);
    if (this.#files.isPending(file)) {
      const message = `The File ${id} is not in an ACTIVE state and usage is not allowed.`;
      throw new Refusal(400, "FAILED_PRECONDITION", message);
    }
    const lines = Buffer.from(file.content).toString().split("\n");
    if (lines.at(-1) === "") lines.pop();
    const items = lines.map(itemOfLine);
    const bad = items.indexOf(null);
    const good = items.filter((item) => item !== null);
    const faults = bad < 0 ? [] : [{ code: "INVALID_ARGUMENT", message: "Not a request with a key.", line: bad + 1 }];
    return { entries: good.map((item) => this.#entry(item, isEmbedding)), faults, tokens: tokensOf(good) };
  }

  #entry({ key, request }: GeminiItem, isEmbedding: boolean): Entry {
    const endpoint = isEmbedding ? EMBED : GENERATE;
    const identity = this.#settings.identify({ customId: key, endpoint, body: request });
    return { customId: key, identity, endpoint, body: JSON.stringify(request) };
  }

  #checkRoom(model: string, tokens: number): void {
    const { concurrentBatches, enqueuedTokens } = this.#settings.limits;
    if (this.book.open < concurrentBatches && this.book.enqueued(model).tokens + tokens <= enqueuedTokens) return;
    const message = "You exceeded your current quota, please check your plan and billing details.";
    throw new Refusal(429, "RESOURCE_EXHAUSTED", message);
  }

  #add(work: NewWork, model: string, extra: GeminiExtra, foreign: boolean): FakeBatch<GeminiExtra> {
    return this.book.add({ ...work, id: this.#nextId(), model, windowMs: WINDOW_MS, foreign, extra });
  }

  #nextId(): string {
    return `${this.#settings.mark}${String(this.book.size + 1).padStart(8, "0")}`;
  }

  #cancel(batch: FakeBatch<GeminiExtra>): Reply {
    const { phase } = this.book.moment(batch);
    if (isOver(phase)) throw new Refusal(400, "FAILED_PRECONDITION", "The batch has ended.");
    this.book.cancel(batch);
    return jsonReply({});
  }

  #show(batch: FakeBatch<GeminiExtra>): JsonObject {
    const { book } = this;
    const shown = { moment: book.moment(batch), counts: book.counts(batch), now: this.#settings.now() };
    const { isEmbedding, isFile } = batch.extra;
    return renderOperation(batch, shown, () => {
      if (isFile) return { responsesFile: `files/batch-${batch.id}` };
      const responses = [...book.endings(batch)].map((ending) => renderGeminiResult(ending, false));
      return { [isEmbedding ? "inlinedEmbedContentResponses" : "inlinedResponses"]: { inlinedResponses: responses } };
    });
  }

  #results(fileId: string): Uint8Array {
    const batch = fileId.startsWith("batch-") ? this.book.get(fileId.slice("batch-".length)) : undefined;
    if (batch === undefined || this.book.moment(batch).phase !== "completed") throw noFile(fileId);
    const lines = [...this.book.endings(batch)].map(
      (ending) => `${JSON.stringify(renderGeminiResult(ending, true))}\n`,
    );
    return new TextEncoder().encode(lines.join(""));
  }

  #batch(id: string): FakeBatch<GeminiExtra> {
    const batch = this.book.get(id);
    if (batch === undefined) throw new Refusal(404, "NOT_FOUND", `Batch ${id} is not found.`);
    return batch;
  }
}

function check({ endpoint, body }: FakeLine): FakeAnswer | null {
  const strange = strangeName(body, endpoint === EMBED);
  const message = strange === null ? geminiFault(body, endpoint === EMBED) : `Unknown name "${strange}"`;
  return message === null ? null : { status: 400, body: { error: { message } } };
}

function tokensOf(items: readonly GeminiItem[]): number {
  return items.reduce((sum, { request }) => sum + estimateTokens(request), 0);
}

/** A page of a list. A size above the maximum is reduced to it. */
function page<Row extends { readonly id: string }>(
  rows: readonly Row[],
  query: URLSearchParams,
  name: string,
  show: (row: Row) => JsonObject,
): JsonObject {
  const size = Math.min(MOST_LISTED, Number(query.get("pageSize") ?? 10) || 10);
  const token = query.get("pageToken");
  const from = token === null ? 0 : rows.findIndex(({ id }) => id === token) + 1;
  if (token !== null && from === 0) throw invalid("The page token is invalid.");
  const shown = rows.slice(from, from + size);
  const last = shown.at(-1);
  const more = last !== undefined && from + size < rows.length ? { nextPageToken: last.id } : {};
  return { ...(shown.length === 0 ? {} : { [name]: shown.map(show) }), ...more };
}

function parse(body: Uint8Array): JsonObject {
  try {
    const value: unknown = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
    if (isObject(value)) return value;
  } catch {
    throw invalid("Invalid JSON payload received.");
  }
  throw invalid("Invalid JSON payload received.");
}

function noFile(id: string): Refusal {
  const message = `You do not have permission to access the File ${id} or it may not exist.`;
  return new Refusal(403, "PERMISSION_DENIED", message);
}

function invalid(message: string): Refusal {
  return new Refusal(400, "INVALID_ARGUMENT", message);
}

/** An int64, as a number or a text, and addresses for events. */
function checkExtras(priority: Json | undefined, webhookConfig: Json | undefined): void {
  if (priority !== undefined && !/^-?\d{1,19}$/.test(String(priority))) throw invalid("batch.priority: not an int64");
  if (webhookConfig === undefined) return;
  const { uris, ...others } = isObject(webhookConfig) ? webhookConfig : {};
  const isRight = Array.isArray(uris) && uris.length > 0 && uris.every((uri) => URL.canParse(String(uri)));
  const strange = Object.keys(others).find((name) => name !== "userMetadata");
  if (!isRight || strange !== undefined) throw invalid(`batch.webhook_config: ${strange ?? "uris are required"}`);
}

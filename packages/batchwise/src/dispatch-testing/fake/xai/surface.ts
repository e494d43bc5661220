// The xAI surface of the fake: /v1/files and /v1/batches, whose paths are OpenAI's, so a fake has
// only one of the two surfaces. Files have no purpose, batches a name, counts and days but no
// state, and results come in pages. A batch never expires here: nothing documents what becomes of
// its requests.

import type { JsonObject } from "../../../dispatch/contract/types.ts";
import { BatchBook, type FakeBatch, foreignEntries } from "../batch-book.ts";
import { type Exchange, jsonReply, Refusal, type Reply } from "../exchange.ts";
import type { FakeOperation } from "../fault-types.ts";
import { FileShelf, type StoredFile } from "../file-shelf.ts";
import { checkFile, isObject } from "../openai/lines.ts";
import type { Settings } from "../settings.ts";
import type { Route, Surface } from "../surface.ts";
import { isOver } from "../timeline.ts";
import { renderBatch, renderResult, type XaiExtra } from "./render.ts";

const HOUR = 3_600_000;
const CHAT = "/v1/chat/completions";
const MOST_LISTED = 100;
const MOST_RESULTS = 1_000;

const ROUTES: Readonly<Record<string, FakeOperation>> = {
  "POST files": "files.create",
  "GET files": "files.list",
  "GET files/id": "files.retrieve",
  "DELETE files/id": "files.delete",
  "POST batches": "batches.create",
  "GET batches": "batches.list",
  "GET batches/id": "batches.retrieve",
  "GET batches/id/results": "batches.results",
  "POST batches/id:cancel": "batches.cancel",
};

type Batch = FakeBatch<XaiExtra>;

export class XaiSurface implements Surface {
  readonly name = "xai";
  readonly book: BatchBook<XaiExtra>;
  readonly #files: FileShelf;
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.book = new BatchBook(settings, { failsWhole: true, check: () => null });
    this.#files = new FileShelf(settings);
  }

  route(method: string, path: string): Route | null {
    const match = /^\/v1\/(files|batches)(?:\/([^/:]+))?(\/results|:cancel)?$/.exec(path);
    if (match === null) return null;
    const [, kind, id, action = ""] = match;
    const operation = ROUTES[`${method} ${kind}${id === undefined ? "" : "/id"}${action}`];
    return operation === undefined ? null : { operation, id: decodeURIComponent(id ?? "") };
  }

  run(operation: FakeOperation, id: string, exchange: Exchange): Reply {
    if (!/^Bearer \S+/.test(exchange.headers.get("authorization") ?? "")) {
      throw new Refusal(401, "unauthenticated", "No API key was given.");
    }
    switch (operation) {
      case "files.create":
        return jsonReply(this.#files.render(this.#files.upload(exchange)));
      case "files.list":
        return this.#page(this.#files.listed(), exchange.query, "data", (file) => this.#files.render(file));
      case "files.retrieve":
        return jsonReply(this.#files.render(this.#file(id)));
      case "files.delete":
        this.#file(id);
        this.#files.delete(id);
        return jsonReply({ id, deleted: true });
      case "batches.create":
        return jsonReply(this.#render(this.#create(exchange.body)));
      case "batches.list":
        return this.#page(this.book.listed(), exchange.query, "batches", (batch) => this.#render(batch));
      case "batches.results":
        return this.#results(this.#batch(id), exchange.query);
      case "batches.cancel":
        return jsonReply(this.#render(this.#cancel(this.#batch(id))));
      default:
        return jsonReply(this.#render(this.#batch(id)));
    }
  }

  refused({ status, code, message, headers }: Refusal): Reply {
    return jsonReply({ code, error: message }, status, headers);
  }

  addForeign(requests: number): void {
    const id = this.#nextId();
    const entries = foreignEntries(id, CHAT, requests);
    const rest = { windowMs: Number.POSITIVE_INFINITY, faults: [], foreign: true, extra: { name: `other ${id}` } };
    this.book.add({ id, model: "foreign", tokens: 0, entries, ...rest });
  }

  #create(body: Uint8Array): Batch {
    const { name, input_file_id: fileId, ...rest } = parseBody(body);
    if (typeof name !== "string" || name === "") throw invalid("name");
    if (typeof fileId !== "string") throw invalid("input_file_id");
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) throw invalid(unknown);
    if (this.book.createdSince(this.#settings.now() - HOUR) >= this.#settings.limits.createsPerHour) {
      throw new Refusal(429, "resource-exhausted", "Too many batches were created.", {
        headers: { "retry-after": "60" },
      });
    }
    const checked = checkFile(this.#file(fileId).content, CHAT, this.#settings, null);
    const fixed = { id: this.#nextId(), windowMs: Number.POSITIVE_INFINITY, foreign: false };
    return this.book.add({ ...checked, ...fixed, extra: { name } });
  }

  #nextId(): string {
    return `batch_${this.#settings.mark}${String(this.book.size + 1).padStart(8, "0")}`;
  }

  #cancel(batch: Batch): Batch {
    const { phase } = this.book.moment(batch);
    if (isOver(phase) && phase !== "cancelled") {
      throw new Refusal(400, "invalid-argument", "The batch has no pending requests.");
    }
    return this.book.cancel(batch);
  }

  /** Results of the requests that have run: no result of any other is documented. */
  #results(batch: Batch, query: URLSearchParams): Reply {
    const { phase } = this.book.moment(batch);
    const ran = phase === "failed" ? [] : [...this.book.endings(batch)].filter(({ answer }) => answer !== null);
    return this.#page(ran, query, "results", renderResult, MOST_RESULTS);
  }

  #page<Row>(
    rows: readonly Row[],
    query: URLSearchParams,
    field: string,
    show: (row: Row) => JsonObject,
    most: number = MOST_LISTED,
  ): Reply {
    const limit = Number(query.get("limit") ?? MOST_LISTED);
    const from = Number(query.get("pagination_token") ?? 0);
    if (!Number.isInteger(limit) || limit < 1 || limit > most) throw invalid("limit");
    if (!Number.isInteger(from) || from < 0 || from > rows.length) throw invalid("pagination_token");
    const next = from + limit < rows.length ? String(from + limit) : null;
    return jsonReply({ [field]: rows.slice(from, from + limit).map(show), pagination_token: next });
  }

  #render(batch: Batch): JsonObject {
    const shown = { moment: this.book.moment(batch), counts: this.book.counts(batch), now: this.#settings.now() };
    return renderBatch(batch, shown);
  }

  #batch(id: string): Batch {
    const batch = this.book.get(id);
    if (batch === undefined) throw new Refusal(404, "not-found", `Batch ${id} not found.`);
    return batch;
  }

  #file(id: string): StoredFile {
    const file = this.#files.get(id);
    if (file === undefined) throw new Refusal(404, "not-found", `File ${id} not found.`);
    return file;
  }
}

function parseBody(body: Uint8Array): JsonObject {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    if (isObject(value)) return value;
  } catch {
    throw new Refusal(400, "invalid-argument", "The body is not JSON.");
  }
  throw new Refusal(400, "invalid-argument", "Expected a JSON object.");
}

function invalid(name: string): Refusal {
  return new Refusal(400, "invalid-argument", `Invalid field or parameter: ${name}.`);
}

// The Mistral surface of the fake: /v1/files and /v1/batch/jobs. Its file paths are OpenAI's, so a
// fake has only one of the two surfaces. A job has one model and takes files or inline requests;
// lines have neither method nor url.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { defaultAnswer } from "../answers.ts";
import { BatchBook, type FakeBatch, foreignEntries } from "../batch-book.ts";
import { bytesReply, type Exchange, jsonReply, Refusal, type Reply } from "../exchange.ts";
import type { FakeOperation } from "../fault-types.ts";
import { FileShelf, type StoredFile } from "../file-shelf.ts";
import type { Settings } from "../settings.ts";
import type { Route, Surface } from "../surface.ts";
import { isOver } from "../timeline.ts";
import { mistralAnswer } from "./answers.ts";
import { mistralFault } from "./bodies.ts";
import { entriesOf, inlineEntries, type JobRequest, linesOf, readJobRequest } from "./jobs.ts";
import * as render from "./render.ts";

const HOUR = 3_600_000;
/** Results are readable this long after a job ends, by Mistral's page on known limitations. */
const RESULTS_KEPT_MS = 24 * HOUR;
const MOST_LISTED = 1_000;
/** Query parameters of a list that do not filter. `metadata` has one parameter for each name. */
const NO_FILTERS: ReadonlySet<string> = new Set(["page", "page_size", "order_by", "created_by_me"]);

const ROUTES: Readonly<Record<string, FakeOperation>> = {
  "POST files": "files.create",
  "GET files": "files.list",
  "GET files/id": "files.retrieve",
  "GET files/id/content": "files.content",
  "DELETE files/id": "files.delete",
  "POST batch/jobs": "jobs.create",
  "GET batch/jobs": "jobs.list",
  "GET batch/jobs/id": "jobs.get",
  "DELETE batch/jobs/id": "jobs.delete",
  "POST batch/jobs/id/cancel": "jobs.cancel",
};

type Job = FakeBatch<render.MistralExtra>;

export class MistralSurface implements Surface {
  readonly name = "mistral";
  readonly book: BatchBook<render.MistralExtra>;
  readonly #files: FileShelf;
  readonly #settings: Settings;

  constructor(settings: Settings) {
    const answer = settings.answer === defaultAnswer ? mistralAnswer : settings.answer;
    this.#settings = settings;
    this.book = new BatchBook({ ...settings, answer }, { failsWhole: true, check: mistralFault });
    this.#files = new FileShelf(settings);
  }

  route(method: string, path: string): Route | null {
    const match = /^\/v1\/(files|batch\/jobs)(?:\/([^/]+))?(?:\/(content|cancel))?$/.exec(path);
    if (match === null) return null;
    const [, kind, id, action] = match;
    const operation =
      ROUTES[`${method} ${kind}${id === undefined ? "" : "/id"}${action === undefined ? "" : `/${action}`}`];
    return operation === undefined ? null : { operation, id: decodeURIComponent(id ?? "") };
  }

  run(operation: FakeOperation, id: string, exchange: Exchange): Reply {
    if (!/^Bearer \S+/.test(exchange.headers.get("authorization") ?? "")) throw new Refusal(401, "", "Unauthorized");
    switch (operation) {
      case "files.create":
        return jsonReply(render.renderMistralFile(this.#files.upload(exchange)));
      case "files.list":
        return jsonReply(this.#page(this.#files.listed(), exchange.query, render.renderMistralFile));
      case "files.retrieve":
        return jsonReply(render.renderMistralFile(this.#file(id)));
      case "files.content":
        return bytesReply(this.#file(id).content, "application/octet-stream");
      case "files.delete":
        this.#file(id);
        this.#files.delete(id);
        return jsonReply({ id, object: "file", deleted: true });
      case "jobs.create":
        return jsonReply(this.#render(this.#create(exchange.body)));
      case "jobs.list":
        return jsonReply(this.#list(exchange.query));
      case "jobs.cancel":
        return jsonReply(this.#render(this.#cancel(this.#job(id))));
      case "jobs.delete":
        this.book.hide(this.#job(id).id);
        return jsonReply({ id, object: "batch", deleted: true });
      default:
        return jsonReply(this.#shown(this.#job(id), exchange.query.get("inline") === "true"));
    }
  }

  refused({ status, code, message, headers }: Refusal): Reply {
    if (status === 401) return jsonReply({ detail: message }, status, headers);
    const type = status === 429 ? "rate_limited" : status >= 500 ? "internal_server_error" : "invalid_request_error";
    const body = { object: "error", message, type, param: null, code, raw_status_code: status };
    return jsonReply(body, status, headers);
  }

  addForeign(requests: number): void {
    const endpoint = "/v1/chat/completions";
    const id = this.#nextId();
    const extra = { endpoint, model: "foreign", inputFiles: [`file-of-${id}`], metadata: null };
    const entries = foreignEntries(id, endpoint, requests);
    this.book.add({ id, model: "foreign", tokens: 0, entries, windowMs: 24 * HOUR, faults: [], foreign: true, extra });
  }

  #create(body: Uint8Array): Job {
    const wanted = readJobRequest(body);
    const { endpoint, model, metadata, timeoutHours } = wanted;
    if (this.#settings.models !== null && (model === null || !this.#settings.models.includes(model))) {
      throw new Refusal(400, "1500", `Invalid model: ${model}`);
    }
    const checked = this.#entries(wanted);
    const { enqueuedItems } = this.#settings.limits;
    if (this.book.enqueued(null).items + checked.entries.length > enqueuedItems) {
      throw new Refusal(
        429,
        "1300",
        `The workspace has too many pending requests, at most ${enqueuedItems} are allowed.`,
      );
    }
    const extra = { endpoint, model, inputFiles: wanted.inputFiles ?? [], metadata };
    const windowMs = timeoutHours * HOUR;
    const fixed = { id: this.#nextId(), model: model ?? "", tokens: 0, windowMs, foreign: false };
    return this.book.add({ ...checked, ...fixed, extra });
  }

  #entries(wanted: JobRequest): ReturnType<typeof entriesOf> {
    if (wanted.inputFiles === null) return inlineEntries(wanted, this.#settings);
    const lines = wanted.inputFiles.flatMap((id) => linesOf(this.#file(id).content));
    return entriesOf(lines, wanted, this.#settings);
  }

  #nextId(): string {
    return `job-${this.#settings.mark}${String(this.book.size + 1).padStart(8, "0")}`;
  }

  #cancel(job: Job): Job {
    const { phase } = this.book.moment(job);
    if (isOver(phase) && phase !== "cancelled") throw new Refusal(400, "1500", "The job cannot be cancelled any more.");
    return this.book.cancel(job);
  }

  #list(query: URLSearchParams): JsonObject {
    const filters = [...query].filter(([name]) => !NO_FILTERS.has(name));
    const rows = this.book.listed().filter((job) => filters.every(([name, value]) => matches(job, name, value)));
    const ordered = query.get("order_by") === "created" ? rows.reverse() : rows;
    return this.#page(ordered, query, (job) => this.#render(job));
  }

  #page<Row>(rows: readonly Row[], query: URLSearchParams, show: (row: Row) => JsonObject): JsonObject {
    const page = Number(query.get("page") ?? 0);
    const size = Number(query.get("page_size") ?? 100);
    const fits = Number.isInteger(page) && page >= 0 && Number.isInteger(size) && size >= 1 && size <= MOST_LISTED;
    if (!fits) throw new Refusal(422, "", "Expected a page from 0 and a page_size from 1 to 1000.");
    return { object: "list", data: rows.slice(page * size, (page + 1) * size).map(show), total: rows.length };
  }

  #render(job: Job): JsonObject {
    return render.renderJob(job, this.#now(job));
  }

  #now(job: Job): Parameters<typeof render.renderJob>[1] {
    return { moment: this.book.moment(job), counts: this.book.counts(job), now: this.#settings.now() };
  }

  /** The job, with its outputs if the client requests them and they exist. */
  #shown(job: Job, inline: boolean): JsonObject {
    const shown = this.#now(job);
    const there = inline && render.areShown(job.course.plan.resultsLagMs, shown);
    const outputs: Json = there ? [...render.outputsOf(this.book.endings(job))].map(({ line }) => line) : null;
    return { ...render.renderJob(job, shown), outputs };
  }

  #job(id: string): Job {
    const job = this.book.get(id);
    if (job === undefined) throw new Refusal(404, "", `No job ${id}.`);
    return job;
  }

  #file(id: string): StoredFile {
    const file = this.#files.get(id) ?? this.#resultFile(id);
    if (file === undefined) throw new Refusal(404, "", `No file ${id}.`);
    return file;
  }

  #resultFile(id: string): StoredFile | undefined {
    const parsed = render.parseResultId(id);
    const job = parsed === null ? undefined : this.book.get(parsed.jobId);
    if (parsed === null || job === undefined) return undefined;
    const shown = this.#now(job);
    const { output_file: output, error_file: errors } = render.resultFiles(job, shown);
    const createdAt = shown.moment.endedAt ?? 0;
    if ((output !== id && errors !== id) || shown.now >= createdAt + RESULTS_KEPT_MS) return undefined;
    const content = render.renderResults(this.book.endings(job), parsed.kind);
    return { id, name: `${id}.jsonl`, purpose: "batch_result", content, createdAt, expiresAt: null };
  }
}

function matches({ extra, course }: Job, name: string, value: string): boolean {
  if (name === "model") return extra.model === value;
  if (name === "created_after") return course.acceptedAt > Date.parse(value);
  return extra.metadata?.[name] === value;
}

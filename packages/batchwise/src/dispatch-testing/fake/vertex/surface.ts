// The Vertex AI surface of the fake: batchPredictionJobs below /v1 and /v1beta1, for Gemini, Claude
// and models in OpenAI's format. A job reads its lines from the fake's storage at creation; its
// results exist once it is shown as ended. Creating is not idempotent; clients find jobs by label.
// A job runs for at most 24 hours and gives the results of lines that ran.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { BatchBook, type FakeBatch, foreignEntries, SILENT } from "../batch-book.ts";
import { type Exchange, jsonReply, Refusal, type Reply } from "../exchange.ts";
import type { FakeOperation } from "../fault-types.ts";
import { RPC_CODES, renderRefusal } from "../gemini/render.ts";
import { isObject } from "../openai/lines.ts";
import type { Settings } from "../settings.ts";
import type { Route, Surface } from "../surface.ts";
import { areCounted, isOver, type Phase } from "../timeline.ts";
import type { FakeObjects } from "../types.ts";
import { checkLines, checkRequest, familyOf, renderLine } from "./lines.ts";

const WINDOW_MS = 24 * 3_600_000;
const MOST_LISTED = 100;
const PATH = /^\/v1(?:beta1)?\/(projects\/[^/]+\/locations\/[^/]+)\/batchPredictionJobs(?:\/([^/:]+))?(?::(cancel))?$/;
const MODEL = /^(?:publishers\/[\w.-]+\/models\/([\w.@-]+)|projects\/[^/]+\/locations\/[^/]+\/models\/([\w.@-]+))$/;
const ADDRESS = /^gs:\/\/([^/]+)\/(.+)$/;
const LABEL = /^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$/u;
const MOST_LABELS = 64;
const FILTER = /^labels\.([\w-]+)\s*=\s*"?([\w-]+)"?$/;

const ROUTES: Readonly<Record<string, FakeOperation>> = {
  POST: "vertex.create",
  GET: "vertex.list",
  "GET id": "vertex.retrieve",
  "DELETE id": "vertex.delete",
  "POST id:cancel": "vertex.cancel",
};

const STATES: Readonly<Record<Phase, string>> = {
  validating: "PENDING",
  in_progress: "RUNNING",
  finalizing: "RUNNING",
  cancelling: "CANCELLING",
  completed: "SUCCEEDED",
  failed: "FAILED",
  expired: "EXPIRED",
  cancelled: "CANCELLED",
};

interface VertexExtra {
  /** `projects/…/locations/…` */
  readonly parent: string;
  readonly displayName: string;
  readonly labels: JsonObject;
  readonly modelPath: string;
  readonly inputUri: string;
  /** Without a trailing slash. */
  readonly outputUri: string;
}

export class VertexSurface implements Surface {
  readonly name = "vertex";
  readonly book: BatchBook<VertexExtra>;
  readonly #settings: Settings;
  /** Jobs whose results are written. */
  readonly #written: Set<string> = new Set();

  constructor(settings: Settings) {
    this.#settings = settings;
    this.book = new BatchBook(settings, { failsWhole: true, check: checkRequest });
  }

  route(method: string, path: string): Route | null {
    const match = PATH.exec(path);
    if (match === null) return null;
    const [, , id, action] = match;
    const operation = ROUTES[`${method}${id === undefined ? "" : " id"}${action === undefined ? "" : `:${action}`}`];
    return operation === undefined ? null : { operation, id: id ?? "" };
  }

  run(operation: FakeOperation, id: string, exchange: Exchange): Reply {
    if (!/^Bearer \S+/.test(exchange.headers.get("authorization") ?? "")) {
      throw new Refusal(401, "UNAUTHENTICATED", "Request is missing required authentication credential.");
    }
    switch (operation) {
      case "vertex.create":
        return jsonReply(this.#show(this.#create(PATH.exec(exchange.path)?.[1] ?? "", exchange.body)));
      case "vertex.list":
        return jsonReply(this.#list(exchange.query));
      case "vertex.cancel":
        this.#cancel(this.#job(id));
        return jsonReply({});
      case "vertex.delete":
        if (!isOver(this.book.moment(this.#job(id)).phase)) throw precondition("The job has not ended.");
        this.book.hide(id);
        return jsonReply({ name: `operations/${id}`, done: true });
      default:
        return jsonReply(this.#show(this.#job(id)));
    }
  }

  refused(refusal: Refusal): Reply {
    return renderRefusal(refusal);
  }

  addForeign(requests: number): void {
    const id = this.#nextId();
    const entries = foreignEntries(id, "/v1beta/generateContent", requests);
    const place = {
      parent: "projects/theirs/locations/there",
      inputUri: "gs://theirs/in.jsonl",
      outputUri: "gs://theirs/out",
    };
    const extra = {
      ...place,
      displayName: "somebody else's",
      labels: {},
      modelPath: "publishers/google/models/foreign",
    };
    this.book.add({ id, model: "foreign", tokens: 0, entries, windowMs: WINDOW_MS, faults: [], foreign: true, extra });
  }

  #create(parent: string, body: Uint8Array): FakeBatch<VertexExtra> {
    const { displayName, model, inputConfig, outputConfig, labels = {}, ...others } = parse(body);
    const strange = Object.keys(others)[0];
    if (strange !== undefined) throw invalid(`Invalid JSON payload received. Unknown name "${strange}".`);
    if (typeof displayName !== "string" || displayName === "" || displayName.length > 128)
      throw invalid("display_name");
    const modelPath = typeof model === "string" ? model : "";
    const name = MODEL.exec(modelPath);
    if (name === null) throw invalid(`The model "${modelPath}" is not valid.`);
    checkLabels(labels);
    const inputUri = addressOf(inputConfig, "instancesFormat", (config) => first(objectAt(config.gcsSource).uris));
    const outputUri = addressOf(
      outputConfig,
      "predictionsFormat",
      (config) => objectAt(config.gcsDestination).outputUriPrefix,
    );
    const family = familyOf(modelPath);
    const { claudeJobs } = this.#settings.limits;
    if (family === "claude" && this.#openOfClaude() >= claudeJobs) {
      throw new Refusal(
        429,
        "RESOURCE_EXHAUSTED",
        "Quota exceeded for concurrent batch prediction jobs of this model.",
      );
    }
    const content = readFrom(this.#storage(), inputUri);
    const gone = { code: "NOT_FOUND", message: `There is no object at ${inputUri}.` };
    const checked = content === null ? { entries: [], faults: [gone] } : checkLines(content, family, this.#settings);
    const extra = { parent, displayName, labels, modelPath, inputUri, outputUri: outputUri.replace(/\/$/, "") };
    const made = {
      id: this.#nextId(),
      model: name[1] ?? name[2] ?? "",
      tokens: 0,
      windowMs: WINDOW_MS,
      foreign: false,
    };
    return this.book.add({ ...made, ...checked, extra });
  }

  #openOfClaude(): number {
    return this.book.openWhere(({ extra, foreign }) => !foreign && familyOf(extra.modelPath) === "claude");
  }

  #storage(): FakeObjects {
    const { storage } = this.#settings;
    if (storage === null) throw invalid("This fake has no storage: give it `storage: fakeGcs()`.");
    return storage;
  }

  /** An id of digits, as Vertex AI's are. */
  #nextId(): string {
    return `${Number.parseInt(this.#settings.mark, 16)}${String(this.book.size + 1).padStart(8, "0")}`;
  }

  #cancel(job: FakeBatch<VertexExtra>): void {
    if (isOver(this.book.moment(job).phase)) throw precondition("The job has ended.");
    this.book.cancel(job);
  }

  #list(query: URLSearchParams): JsonObject {
    const size = Math.min(MOST_LISTED, Number(query.get("pageSize") ?? MOST_LISTED) || MOST_LISTED);
    const rows = this.book.listed().filter(filterOf(query.get("filter")));
    const token = query.get("pageToken");
    const from = token === null ? 0 : rows.findIndex(({ id }) => id === token) + 1;
    if (token !== null && from === 0) throw invalid("The page token is invalid.");
    const shown = rows.slice(from, from + size);
    const last = shown.at(-1);
    return {
      ...(shown.length === 0 ? {} : { batchPredictionJobs: shown.map((job) => this.#show(job)) }),
      ...(last !== undefined && from + size < rows.length ? { nextPageToken: last.id } : {}),
    };
  }

  #show(job: FakeBatch<VertexExtra>): JsonObject {
    const { course, extra, id } = job;
    const moment = this.book.moment(job);
    const { phase, startedAt, endedAt } = moment;
    const now = this.#settings.now();
    const isCounted = phase !== "validating" && phase !== "failed" && areCounted(course, moment, now);
    const strange = phase === "in_progress" ? course.plan.strangeState : null;
    const hasOutput = isOver(phase) && phase !== "failed" && now >= (endedAt ?? 0) + course.plan.resultsLagMs;
    const shown: { readonly [name: string]: Json | undefined } = {
      name: `${extra.parent}/batchPredictionJobs/${id}`,
      displayName: extra.displayName,
      model: extra.modelPath,
      inputConfig: { instancesFormat: "jsonl", gcsSource: { uris: [extra.inputUri] } },
      outputConfig: { predictionsFormat: "jsonl", gcsDestination: { outputUriPrefix: extra.outputUri } },
      labels: extra.labels,
      state: `JOB_STATE_${(strange ?? STATES[phase]).toUpperCase()}`,
      createTime: iso(course.acceptedAt),
      startTime: startedAt === null ? undefined : iso(startedAt),
      endTime: endedAt === null ? undefined : iso(endedAt),
      updateTime: iso(endedAt ?? now),
      completionStats: isCounted ? this.#stats(job, isOver(phase)) : undefined,
      error: errorOf(job, phase),
      outputInfo: hasOutput ? { gcsOutputDirectory: this.#write(job) } : undefined,
    };
    return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
  }

  /** Counts as strings, because they are 64-bit numbers. While a job runs, the open count is -1. */
  #stats(job: FakeBatch<VertexExtra>, over: boolean): JsonObject {
    const { succeeded, failed } = this.book.counts(job);
    const open = over ? String(job.course.items - succeeded - failed) : "-1";
    return { successfulCount: String(succeeded), failedCount: String(failed), incompleteCount: open };
  }

  /**
   * The folder of the results. They are written when it is first shown, and do not change later.
   */
  #write(job: FakeBatch<VertexExtra>): string {
    const { extra, id, model, foreign, course } = job;
    const folder = `${extra.outputUri}/prediction-model-${iso(course.acceptedAt)}`;
    if (foreign || this.#written.has(id)) return folder;
    this.#written.add(id);
    const family = familyOf(extra.modelPath);
    const lines = [...this.book.endings(job)].flatMap((ending) => renderLine(ending, family, model) ?? []);
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    const [, bucket = "", name = ""] = ADDRESS.exec(`${folder}/predictions.jsonl`) ?? [];
    this.#storage().write(bucket, name, text);
    return folder;
  }

  #job(id: string): FakeBatch<VertexExtra> {
    const job = this.book.get(id);
    if (job === undefined) throw new Refusal(404, "NOT_FOUND", `The BatchPredictionJob ${id} does not exist.`);
    return job;
  }
}

function errorOf({ course }: FakeBatch<VertexExtra>, phase: Phase): JsonObject | undefined {
  if (phase !== "failed" || course.faults.includes(SILENT)) return undefined;
  const [fault] = course.faults;
  const at = fault?.line == null ? "" : `Line ${fault.line}: `;
  return { code: RPC_CODES[fault?.code ?? ""] ?? 3, message: `${at}${fault?.message ?? ""}` };
}

function readFrom(storage: FakeObjects, uri: string): Uint8Array | null {
  const [, bucket = "", name = ""] = ADDRESS.exec(uri) ?? [];
  return storage.read(bucket, name);
}

/** The address in one half of the job's configuration. It must name JSON lines in Cloud Storage. */
function addressOf(config: Json | undefined, format: string, read: (config: JsonObject) => Json | undefined): string {
  const given = objectAt(config);
  const uri = read(given);
  if (given[format] !== "jsonl" || typeof uri !== "string" || !ADDRESS.test(uri)) {
    throw invalid(`Expected ${format} "jsonl" and an address in Cloud Storage.`);
  }
  return uri;
}

function checkLabels(labels: Json): asserts labels is JsonObject {
  const pairs = isObject(labels) ? Object.entries(labels) : null;
  const fits = pairs?.every(([key, value]) => /^\p{Ll}/u.test(key) && LABEL.test(key) && LABEL.test(String(value)));
  if (fits !== true || (pairs?.length ?? 0) > MOST_LABELS) throw invalid("The labels are not valid.");
}

function filterOf(text: string | null): (job: FakeBatch<VertexExtra>) => boolean {
  if (text === null || text === "") return () => true;
  const [, key = "", value] = FILTER.exec(text) ?? [];
  if (value === undefined) throw invalid(`The fake knows no filter like ${text}.`);
  return ({ extra }) => extra.labels[key] === value;
}

function first(value: Json | undefined): Json | undefined {
  return Array.isArray(value) && value.length === 1 ? (value[0] as Json) : undefined;
}

function objectAt(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function parse(body: Uint8Array): JsonObject {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    if (isObject(value)) return value;
  } catch {
    throw invalid("Invalid JSON payload received.");
  }
  throw invalid("Invalid JSON payload received.");
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

function precondition(message: string): Refusal {
  return new Refusal(400, "FAILED_PRECONDITION", message);
}

function invalid(message: string): Refusal {
  return new Refusal(400, "INVALID_ARGUMENT", message);
}

// The Bedrock surface of the fake: batch inference jobs that read from and write to a bucket. An
// equal token returns the same job. Inputs are checked when the job is validated, records when they
// run. Results are written at the first call after a job has ended.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { BatchBook, type Entry, type FakeBatch, foreignEntries } from "../batch-book.ts";
import { type Exchange, jsonReply, Refusal, type Reply } from "../exchange.ts";
import type { FakeOperation } from "../fault-types.ts";
import { isObject } from "../openai/lines.ts";
import type { Settings } from "../settings.ts";
import type { Route, Surface } from "../surface.ts";
import { isOver } from "../timeline.ts";
import type { FakeAnswer, FakeLine, FakeLineFault } from "../types.ts";
import { endpointOf, inputFault } from "./inputs.ts";
import { type BedrockExtra, renderJob, renderManifest, renderOutput } from "./render.ts";

const HOUR = 3_600_000;
const ROOT = "arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/";

/** Patterns from the API reference of CreateModelInvocationJob and GetModelInvocationJob. */
const JOB_NAME = /^(?=.{1,63}$)[a-zA-Z0-9]{1,63}(-*[a-zA-Z0-9+\-.]){0,63}$/;
const TOKEN = /^(?=.{1,256}$)[a-zA-Z0-9]{1,256}(-*[a-zA-Z0-9]){0,256}$/;
const ROLE = /^arn:aws(-[^:]+)?:iam::([0-9]{12})?:role\/.+$/;
const JOB_ID = /^(?:arn:aws(-[^:]+)?:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:model-invocation-job\/)?([a-z0-9]{12})$/;
const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(.+)$/;

const NAMES: Readonly<Record<number, string>> = {
  401: "UnrecognizedClientException",
  403: "AccessDeniedException",
  404: "ResourceNotFoundException",
  409: "ConflictException",
  429: "ThrottlingException",
  500: "InternalServerException",
  503: "ServiceUnavailableException",
};

const ROUTES: Readonly<Record<string, FakeOperation>> = {
  "POST job": "invocationJobs.create",
  "GET jobs": "invocationJobs.list",
  "GET job/id": "invocationJobs.retrieve",
  "POST job/id/stop": "invocationJobs.stop",
};

export class BedrockSurface implements Surface {
  readonly name = "bedrock";
  readonly book: BatchBook<BedrockExtra>;
  readonly #settings: Settings;
  readonly #byToken: Map<string, string> = new Map();
  readonly #written: Set<string> = new Set();

  constructor(settings: Settings) {
    this.#settings = settings;
    this.book = new BatchBook(settings, { failsWhole: true, check });
  }

  route(method: string, path: string): Route | null {
    const match = /^\/model-invocation-(jobs?)(?:\/(.+?))?(\/stop)?$/.exec(path);
    if (match === null) return null;
    const [, kind, id, action = ""] = match;
    const operation = ROUTES[`${method} ${kind}${id === undefined ? "" : "/id"}${action}`];
    return operation === undefined ? null : { operation, id: decodeURIComponent(id ?? "") };
  }

  run(operation: FakeOperation, id: string, exchange: Exchange): Reply {
    if (!exchange.headers.get("authorization")?.startsWith("AWS4-HMAC-SHA256 ")) {
      throw new Refusal(403, "MissingAuthenticationTokenException", "Missing Authentication Token");
    }
    this.#writeOutputs();
    switch (operation) {
      case "invocationJobs.create":
        return jsonReply({ jobArn: this.#create(exchange.body) });
      case "invocationJobs.list":
        return jsonReply(this.#list(exchange.query));
      case "invocationJobs.stop":
        this.#stop(this.#job(id));
        return jsonReply({});
      default:
        return jsonReply(this.#render(this.#job(id)));
    }
  }

  refused({ status, code, message, headers }: Refusal): Reply {
    const isNamed = /Exception$/.test(code);
    const name = isNamed ? code : (NAMES[status] ?? (status < 500 ? "ValidationException" : "InternalServerException"));
    return jsonReply({ message }, status, { "x-amzn-errortype": name, ...headers });
  }

  addForeign(requests: number): void {
    const request = { jobName: "somebody-elses", modelId: "amazon.nova-lite-v1:0" };
    const output = { bucket: "elsewhere", folder: "" };
    const extra = { request, timeoutHours: 24, fileName: "a.jsonl", output };
    this.#add(foreignEntries("foreign", "/model/invoke", requests), [], extra, true);
  }

  #create(body: Uint8Array): string {
    const request = parse(body);
    const token = request.clientRequestToken;
    const known = typeof token === "string" ? this.#byToken.get(token) : undefined;
    if (known !== undefined) return known;
    const { input, output } = checkRequest(request);
    if (this.book.createdSince(this.#settings.now() - HOUR) >= this.#settings.limits.createsPerHour) {
      throw new Refusal(400, "ServiceQuotaExceededException", "Too many jobs of this model are submitted.");
    }
    const { entries, faults } = this.#read(input.bucket, input.name);
    const extra: BedrockExtra = {
      request,
      timeoutHours: Number(request.timeoutDurationInHours ?? 24),
      fileName: input.name.slice(input.name.lastIndexOf("/") + 1),
      output: { bucket: output.bucket, folder: output.name.replace(/\/?$/, "/") },
    };
    const { id } = this.#add(entries, faults, extra, false);
    if (typeof token === "string") this.#byToken.set(token, id);
    return id;
  }

  #add(
    entries: readonly Entry[],
    faults: readonly FakeLineFault[],
    extra: BedrockExtra,
    foreign: boolean,
  ): FakeBatch<BedrockExtra> {
    const id = `${ROOT}${this.#settings.mark}${(this.book.size + 1).toString(36).padStart(4, "0")}`;
    const windowMs = extra.timeoutHours * HOUR;
    return this.book.add({
      id,
      model: String(extra.request.modelId),
      tokens: 0,
      entries,
      windowMs,
      faults,
      foreign,
      extra,
    });
  }

  /** The records of an input, and the faults that will fail the job. */
  #read(bucket: string, name: string): { entries: Entry[]; faults: FakeLineFault[] } {
    const bytes = this.#settings.storage?.read(bucket, name) ?? null;
    if (bytes === null) return { entries: [], faults: [fault(`There is no object s3://${bucket}/${name}.`)] };
    if (bytes.length > this.#settings.limits.maxFileBytes)
      return { entries: [], faults: [fault("The file is too large.")] };
    const lines = Buffer.from(bytes)
      .toString()
      .split("\n")
      .filter((line) => line !== "");
    const { minLines, maxLines } = this.#settings.limits;
    if (lines.length < minLines || lines.length > maxLines) {
      const message = `The job has ${lines.length} records; a job of this model has ${minLines} to ${maxLines}.`;
      return { entries: [], faults: [fault(message)] };
    }
    const entries = lines.map((line) => this.#entry(line));
    const broken = entries.indexOf(null);
    if (broken >= 0) return { entries: [], faults: [fault(`Line ${broken + 1} of the input is malformed.`)] };
    return { entries: entries as Entry[], faults: [] };
  }

  #entry(line: string): Entry | null {
    const record = parseJson(line);
    if (!isObject(record) || typeof record.recordId !== "string" || !isObject(record.modelInput)) return null;
    const { recordId: customId, modelInput: body } = record;
    const endpoint = endpointOf(body);
    return {
      customId,
      identity: this.#settings.identify({ customId, endpoint, body }),
      endpoint,
      body: JSON.stringify(body),
    };
  }

  #stop(batch: FakeBatch<BedrockExtra>): void {
    if (isOver(this.book.moment(batch).phase)) {
      throw new Refusal(400, "ConflictException", "The job has ended and cannot be stopped.");
    }
    this.book.cancel(batch);
  }

  #list(query: URLSearchParams): JsonObject {
    const limit = Number(query.get("maxResults") ?? 100);
    if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw invalid("maxResults");
    const [part, token] = [query.get("nameContains") ?? "", query.get("nextToken")];
    const rows = this.book.listed().filter(({ extra }) => String(extra.request.jobName).includes(part));
    const from = token === null ? 0 : rows.findIndex(({ id }) => id === token) + 1;
    const shown = rows.slice(from, from + limit);
    const more = from + limit < rows.length ? { nextToken: shown.at(-1)?.id } : {};
    return { invocationJobSummaries: shown.map((batch) => this.#render(batch)), ...more };
  }

  #render(batch: FakeBatch<BedrockExtra>): JsonObject {
    return renderJob(batch, this.book.moment(batch), this.book.counts(batch), this.#settings.now());
  }

  #job(id: string): FakeBatch<BedrockExtra> {
    const [, , short] = JOB_ID.exec(id) ?? [];
    if (short === undefined) throw invalid("jobIdentifier");
    const batch = this.book.get(`${ROOT}${short}`);
    if (batch === undefined) throw new Refusal(404, "ResourceNotFoundException", `There is no job ${id}.`);
    return batch;
  }

  #writeOutputs(): void {
    for (const { id, foreign } of this.book.views()) {
      const batch = foreign || this.#written.has(id) ? undefined : this.book.get(id);
      if (batch === undefined) continue;
      const { phase, done, endedAt } = this.book.moment(batch);
      if (!isOver(phase) || this.#settings.now() < (endedAt ?? 0) + batch.course.plan.resultsLagMs) continue;
      this.#written.add(id);
      if (done === 0) continue;
      const { bucket, folder } = batch.extra.output;
      const path = `${folder}${id.slice(ROOT.length)}/`;
      const manifest = renderManifest(batch.entries.length, this.book.counts(batch));
      this.#settings.storage?.write(
        bucket,
        `${path}${batch.extra.fileName}.out`,
        renderOutput(this.book.endings(batch)),
      );
      this.#settings.storage?.write(bucket, `${path}manifest.json.out`, manifest);
    }
  }
}

function check({ body }: FakeLine): FakeAnswer | null {
  const message = inputFault(body);
  return message === null ? null : { status: 400, body: { error: { message } } };
}

interface Place {
  readonly bucket: string;
  readonly name: string;
}

function checkRequest(request: JsonObject): { readonly input: Place; readonly output: Place } {
  const { jobName, roleArn, modelId, clientRequestToken: token, timeoutDurationInHours: hours, ...rest } = request;
  if (typeof jobName !== "string" || !JOB_NAME.test(jobName)) throw invalid("jobName");
  if (typeof roleArn !== "string" || !ROLE.test(roleArn)) throw invalid("roleArn");
  if (typeof modelId !== "string" || modelId === "") throw invalid("modelId");
  if (token !== undefined && (typeof token !== "string" || !TOKEN.test(token))) throw invalid("clientRequestToken");
  if (hours !== undefined && !(Number(hours) >= 24 && Number(hours) <= 168)) throw invalid("timeoutDurationInHours");
  const input = placeIn(rest.inputDataConfig, "s3InputDataConfig");
  if (!input.name.endsWith(".jsonl")) throw invalid("inputDataConfig");
  return { input, output: placeIn(rest.outputDataConfig, "s3OutputDataConfig") };
}

function placeIn(config: Json | undefined, kind: string): Place {
  const inner = isObject(config) ? config[kind] : undefined;
  const [, bucket, name] = ADDRESS.exec(String(isObject(inner) ? inner.s3Uri : "")) ?? [];
  if (bucket === undefined || name === undefined) throw invalid(kind);
  return { bucket, name };
}

function parse(body: Uint8Array): JsonObject {
  const value = parseJson(Buffer.from(body).toString());
  if (!isObject(value)) throw invalid("body");
  return value;
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fault(message: string): FakeLineFault {
  return { code: "ValidationException", message };
}

function invalid(what: string): Refusal {
  const message = `1 validation error detected: Value at '${what}' failed to satisfy constraint.`;
  return new Refusal(400, "ValidationException", message);
}

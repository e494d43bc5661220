// Converts Vertex AI's jobs, as the SDK or a list returns them, to our types. Trusts no type. Pure.

import type { BatchName, ListPage, ProviderBatch, ProviderState } from "../../contract/account.ts";
import { readTag, TAG_KEY, tagMetadata } from "../shapes/batch-names.ts";
import { figuresOf, timeOf } from "../shapes/counts.ts";
import { toState } from "../shapes/google/google-jobs.ts";
import { noListError } from "../shapes/lines/list-rows.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { toFailure } from "./classify.ts";

/** A job may wait 72 hours, then run 24 (docs: batch-prediction-gemini, quotas and limits). */
const WINDOW_MS = 96 * 3_600_000;
const ENDED: ReadonlySet<ProviderState> = new Set(["done", "cancelled", "expired", "failed"]);

type JsonLike = { readonly [key: string]: unknown };

/** The labels of a job. Values contain only lower-case letters, digits, _ and -. */
export function labelsOf({ key, attempt }: Pick<BatchName, "key" | "attempt">): Readonly<Record<string, string>> {
  return tagMetadata({ key: key.toLowerCase(), attempt });
}

/** The list filter for the jobs of all attempts of a batch. */
export function filterOf({ key }: Pick<BatchName, "key">): string {
  return `labels.${TAG_KEY}="${key.toLowerCase()}"`;
}

export function toProviderBatch(wire: unknown): ProviderBatch {
  const job = objectOf(wire);
  const id = text(job.name);
  if (id === null) throw new Error("The provider answered with a job that has no name.");
  const rawState = text(job.state) ?? "";
  const state = toState(rawState) ?? "running";
  const isOver = ENDED.has(state);
  const { ran, ...figures } = countsOf(objectOf(job.completionStats));
  const createdAt = timeOf(job.createTime);
  // A folder without a name yet is in the requested one, which is the batch's own.
  const mustBe = state === "done" || (isOver && state !== "failed" && (ran ?? 0) > 0);
  const asked = mustBe ? text(objectOf(job.dest).gcsUri) : null;
  const output = text(objectOf(job.outputInfo).gcsOutputDirectory) ?? asked;
  return {
    id,
    state,
    rawState,
    createdAt: createdAt ?? 0,
    expiresAt: createdAt === null ? null : createdAt + WINDOW_MS,
    tag: readTag(text(job.displayName)),
    inputFileId: inputOf(job.src),
    ...figures,
    ran: isOver ? ran : null,
    resultRefs: isOver && output !== null ? [output] : [],
    failure: state === "failed" ? toFailure(job.error) : null,
  };
}

/**
 * A page of jobs. Throws for an answer that is no list: an unlisted job counts as never created and
 * is sent again. Google omits empty fields.
 */
export function toListPage(wire: unknown): ListPage {
  const page = jsonObject(wire);
  const rows: unknown = page?.batchPredictionJobs;
  const isEmpty = page !== null && Object.keys(page).every((name) => name === "nextPageToken");
  const jobs: readonly unknown[] | null = Array.isArray(rows) ? rows : isEmpty ? [] : null;
  if (jobs === null) throw noListError("an array `batchPredictionJobs`", wire);
  return { batches: jobs.map((job) => toProviderBatch(renamed(job))), next: text(page?.nextPageToken) };
}

/** The job with the SDK's names for its input and output addresses. */
function renamed(row: unknown): JsonLike {
  const job = objectOf(row);
  const { gcsSource } = objectOf(job.inputConfig);
  const { gcsDestination } = objectOf(job.outputConfig);
  const [src, dest] = [{ gcsUri: objectOf(gcsSource).uris }, { gcsUri: objectOf(gcsDestination).outputUriPrefix }];
  return { ...job, src, dest };
}

/**
 * Counts: 64-bit numbers are strings, zeros may be absent, and -1 means unknown. Of a job whose
 * total is unknown it is still known how many requests ran.
 */
function countsOf(stats: JsonLike): ReturnType<typeof figuresOf> {
  const [succeeded, failed] = [Math.max(0, count(stats.successfulCount)), Math.max(0, count(stats.failedCount))];
  const open = count(stats.incompleteCount);
  const figures = figuresOf(open < 0 ? null : succeeded + failed + open, succeeded, failed);
  return { ...figures, ran: Object.keys(stats).length === 0 ? null : succeeded + failed };
}

function count(value: unknown): number {
  const number = Number(value ?? 0);
  return Number.isSafeInteger(number) ? number : 0;
}

function inputOf(src: unknown): string | null {
  const { gcsUri } = objectOf(src);
  return text(Array.isArray(gcsUri) ? gcsUri[0] : gcsUri);
}

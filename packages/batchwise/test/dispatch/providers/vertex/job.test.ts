import { describe, expect, test } from "vitest";
import { classify, toFailure } from "../../../../src/dispatch/providers/vertex/classify.ts";
import { filterOf, labelsOf, toProviderBatch } from "../../../../src/dispatch/providers/vertex/job.ts";

const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const HOUR = 3_600_000;
const job = {
  name: "projects/p/locations/l/batchPredictionJobs/1",
  displayName: `batchwise-${KEY}-2`,
  state: "JOB_STATE_SUCCEEDED",
  createTime: "2026-01-01T00:00:00.5Z",
  src: { format: "jsonl", gcsUri: ["gs://b/input/x.jsonl"] },
  outputInfo: { gcsOutputDirectory: "gs://b/output/x/prediction-model-1" },
  completionStats: { successfulCount: "7", failedCount: "2", incompleteCount: "1" },
};

describe("a job in our words", () => {
  test("that has ended", () => {
    expect(toProviderBatch(job)).toEqual({
      id: job.name,
      state: "done",
      rawState: "JOB_STATE_SUCCEEDED",
      createdAt: Date.UTC(2026, 0, 1) + 500,
      expiresAt: Date.UTC(2026, 0, 1) + 500 + 96 * HOUR,
      tag: { key: KEY, attempt: 2 },
      inputFileId: "gs://b/input/x.jsonl",
      total: 10,
      settled: 9,
      ran: 9,
      counts: { total: 10, succeeded: 7, failed: 2 },
      resultRefs: ["gs://b/output/x/prediction-model-1"],
      failure: null,
    });
  });

  test.each([
    ["JOB_STATE_QUEUED", "validating"],
    ["JOB_STATE_PENDING", "validating"],
    ["JOB_STATE_RUNNING", "running"],
    ["JOB_STATE_PAUSED", "running"],
    ["JOB_STATE_UPDATING", "running"],
    ["JOB_STATE_OF_TOMORROW", "running"],
    ["JOB_STATE_UNSPECIFIED", "running"],
    ["", "running"],
    ["JOB_STATE_CANCELLING", "cancelling"],
    ["JOB_STATE_PARTIALLY_SUCCEEDED", "done"],
    ["JOB_STATE_CANCELLED", "cancelled"],
    ["JOB_STATE_EXPIRED", "expired"],
    ["JOB_STATE_FAILED", "failed"],
  ])("of state %j is %s, and has results only once it has ended", (state, expected) => {
    const seen = toProviderBatch({ ...job, state });
    const isOver = !["validating", "running", "cancelling"].includes(expected);
    expect([seen.state, seen.resultRefs.length, seen.ran]).toEqual([expected, isOver ? 1 : 0, isOver ? 9 : null]);
  });

  test.each([
    [{ successfulCount: "7", failedCount: "2" }, { total: 9, succeeded: 7, failed: 2 }, 9],
    [{ successfulCount: "7", failedCount: "-1", incompleteCount: "3" }, { total: 10, succeeded: 7, failed: 0 }, 7],
    [{ successfulCount: "7", incompleteCount: "many" }, { total: 7, succeeded: 7, failed: 0 }, 7],
    [{ incompleteCount: "5" }, { total: 5, succeeded: 0, failed: 0 }, 0],
    [{ successfulCount: "7", incompleteCount: "-1" }, null, 7],
    [{ successfulCount: "0" }, null, 0],
    [{}, null, null],
  ])("with the counts %j", (completionStats, counts, ran) => {
    const seen = toProviderBatch({ ...job, completionStats });
    expect([seen.counts, seen.total, seen.settled]).toEqual([counts, counts?.total ?? null, counts && ran]);
    expect(seen.ran).toBe(ran);
    expect(toProviderBatch({ ...job, completionStats, state: "JOB_STATE_RUNNING" }).ran).toBe(null);
  });

  test("whose counts are not known has none", () => {
    const running = { ...job, completionStats: { successfulCount: "3", incompleteCount: "-1" } };
    expect(toProviderBatch(running)).toMatchObject({ total: null, settled: null, ran: 3, counts: null });
    const { completionStats: _, ...without } = job;
    expect(toProviderBatch(without)).toMatchObject({ total: null, ran: null, counts: null });
  });

  test("whose folder is not named yet has its results in the requested one, once there must be any", () => {
    const { outputInfo: _, ...late } = { ...job, dest: { format: "jsonl", gcsUri: "gs://b/output/x" } };
    expect(toProviderBatch(late).resultRefs).toEqual(["gs://b/output/x"]);
    expect(toProviderBatch({ ...late, state: "JOB_STATE_EXPIRED" }).resultRefs).toEqual(["gs://b/output/x"]);
    const none = { ...late, state: "JOB_STATE_CANCELLED", completionStats: {} };
    expect(toProviderBatch(none).resultRefs).toEqual([]);
    expect(toProviderBatch({ ...late, state: "JOB_STATE_FAILED" }).resultRefs).toEqual([]);
  });

  test("of a stranger has no tag, and odd fields have no meaning", () => {
    const odd = { name: job.name, displayName: "theirs", createTime: "soon", src: { gcsUri: 7 }, outputInfo: "x" };
    expect(toProviderBatch(odd)).toMatchObject({ tag: null, createdAt: 0, expiresAt: null, inputFileId: null });
    expect(() => toProviderBatch({})).toThrow("a job that has no name");
  });
});

test("labels have small letters only, and the filter matches all attempts", () => {
  expect(labelsOf({ key: KEY, attempt: 2 })).toEqual({ batchwise_key: KEY.toLowerCase(), batchwise_attempt: "2" });
  expect(filterOf({ key: KEY })).toBe(`labels.batchwise_key="${KEY.toLowerCase()}"`);
});

describe("an error of Vertex AI", () => {
  const error = (status: number, message: string, more: object = {}) =>
    Object.assign(new Error(JSON.stringify({ error: { code: status, message, status: "WORD", ...more } })), { status });

  test.each([
    [error(429, "Quota exceeded for concurrent jobs."), "create", { kind: "tokenLimit", code: "WORD" }],
    [error(429, "Quota exceeded."), "retrieve", { kind: "rateLimited", retryAfterMs: null }],
    [
      error(429, "Slow.", { details: [{ retryDelay: "1.5s" }] }),
      "create",
      { kind: "rateLimited", retryAfterMs: 1_500 },
    ],
    [error(400, "This API method requires billing to be enabled."), "create", { kind: "authOrBilling" }],
    [error(400, "The model is not valid."), "create", { kind: "invalidRequest", message: "The model is not valid." }],
    [error(404, "No such job."), "cancel", { kind: "definitelyNotCreated" }],
    [Object.assign(new Error("No access."), { code: 403 }), "upload", { kind: "authOrBilling" }],
    [Object.assign(new Error("invalid_grant"), { code: "400", status: 400 }), "create", { kind: "authOrBilling" }],
    [new TypeError("fetch failed"), "create", { kind: "unknown", code: "no_answer" }],
  ] as const)("%s at %s", (thrown, operation, expected) => {
    expect(classify(thrown, operation)).toMatchObject(expected);
  });

  test.each([
    [
      { code: 3, message: "A line is bad." },
      { kind: "invalidRequest", code: "rpc_3", lines: [] },
    ],
    [{ code: 5, message: "No input." }, { kind: "unknown" }],
    [{ code: 7, message: "The service agent may not read." }, { kind: "authOrBilling" }],
    [{ code: 8, message: "Quota." }, { kind: "tokenLimit" }],
    [{ code: 13 }, { kind: "unknown", message: "The provider gave no reason." }],
  ])("that a job failed with: %j", (status, expected) => {
    expect(toFailure(status)).toMatchObject(expected);
    expect(toFailure({})).toBe(null);
  });
});

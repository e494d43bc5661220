import { describe, expect, test } from "vitest";
import { classify, classifyJobErrors } from "../../../../src/dispatch/providers/mistral/classify.ts";
import {
  jobOf,
  nextOf,
  rowsOf,
  toProviderBatch,
  toResultLine,
} from "../../../../src/dispatch/providers/mistral/convert.ts";

const HOUR = 3_600_000;
const metadata = { batchwise_key: "K", batchwise_attempt: "2" };
const job = {
  ...{ id: "j1", object: "batch", inputFiles: ["f1"], metadata, endpoint: "/v1/chat/completions", errors: [] },
  ...{ status: "RUNNING", createdAt: 1_000, totalRequests: 10, completedRequests: 4 },
  ...{ succeededRequests: 3, failedRequests: 1, outputFile: null, errorFile: null },
};

/** An error as the client throws it. */
function thrown(statusCode: number, body: string): Error {
  return Object.assign(new Error(`API error occurred: Status ${statusCode}. Body: ${body}`), {
    statusCode,
    body,
    headers: new Headers({ "retry-after": "7" }),
  });
}

describe("a job in our words", () => {
  test("has its tag, its counts and its end", () => {
    expect(toProviderBatch(job, 24)).toEqual({
      ...{ id: "j1", state: "running", rawState: "RUNNING", createdAt: 1_000_000, expiresAt: 1_000_000 + 24 * HOUR },
      ...{ tag: { key: "K", attempt: 2 }, inputFileId: "f1", total: 10, settled: 4, ran: 4 },
      ...{ counts: { total: 10, succeeded: 3, failed: 1 }, resultRefs: [], failure: null },
    });
  });

  test.each([
    ["QUEUED", "validating"],
    ["RUNNING", "running"],
    ["SUCCESS", "done"],
    ["FAILED", "failed"],
    ["TIMEOUT_EXCEEDED", "expired"],
    ["CANCELLATION_REQUESTED", "cancelling"],
    ["CANCELLED", "cancelled"],
    ["success", "done"],
    ["PAUSED", "running"],
  ])("%s is %s", (status, state) => {
    expect(toProviderBatch({ ...job, status }, 24)).toMatchObject({ state, rawState: status });
  });

  test("is read in snake case too, as it comes where the client could not validate it", () => {
    const wire = { id: "j1", status: "SUCCESS", created_at: 1_000, input_files: ["f1"], output_file: "o1" };
    const counts = { total_requests: 2, succeeded_requests: 1, failed_requests: 1, error_file: "" };
    expect(toProviderBatch({ ...wire, ...counts }, 1)).toMatchObject({
      ...{ id: "j1", state: "done", createdAt: 1_000_000, expiresAt: 1_000_000 + HOUR, inputFileId: "f1" },
      ...{ total: 2, settled: 2, ran: 2, resultRefs: ["o1"] },
    });
  });

  test("of inline requests has its results in itself", () => {
    const [ref = ""] = toProviderBatch({ ...job, status: "SUCCESS", inputFiles: [] }, 24).resultRefs;
    expect(jobOf(ref)).toBe("j1");
    expect(jobOf("0b7a3c1e-file")).toBeNull();
  });

  test("without an id, or of nothing, is no job", () => {
    for (const wire of [{}, null, { id: "" }]) expect(() => toProviderBatch(wire, 24)).toThrow("a job that has no id");
  });
});

describe("pages", () => {
  test.each<[string, unknown, number, string | null]>([
    ["an empty page is the end", { data: [], total: 7 }, 3, null],
    ["a first page with all there is is the end", { data: [{}, {}], total: 2 }, 0, null],
    ["a page shorter than asked for is not", { data: [{}], total: 7 }, 1, "2"],
    ["nor is one without a total", { data: [{}] }, 0, "1"],
  ])("%s", (_case, answer, page, next) => {
    expect(nextOf(answer, page)).toBe(next);
  });

  test("are empty only where the answer is a list", () => {
    expect(rowsOf({ object: "list", total: 0 })).toEqual([]);
    expect(rowsOf({ data: [], total: 3 })).toEqual([]);
    for (const wire of [{}, { detail: "later" }, "<html>", null, { data: {} }]) {
      expect(() => rowsOf(wire)).toThrow(
        "Expected the provider to answer a call for its list with an array `data`, got ",
      );
    }
  });
});

describe("a result line", () => {
  const read = (line: object) => toResultLine({ custom_id: "c", ...line }, "/v1/embeddings");

  test("of a success has its body and its tokens", () => {
    const body = { object: "list", data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 4, total_tokens: 4 } };
    expect(read({ response: { status_code: 200, body }, error: null })).toMatchObject({
      response: { statusCode: 200, body },
      error: null,
      usage: { inputTokens: 4, totalTokens: 4 },
    });
  });

  test.each([
    [{ message: { detail: [{ loc: ["body", "x"], msg: "Extra inputs are not permitted" }] }, type: "invalid" }],
    [{ detail: [{ loc: ["body", "x"], msg: "Extra inputs are not permitted" }], type: "invalid" }],
    ['{"detail":[{"loc":["body","x"],"msg":"Extra inputs are not permitted"}],"type":"invalid"}'],
  ])("of a refused body has the words: %j", (body) => {
    expect(read({ response: { status_code: 422, body }, error: null })).toMatchObject({
      response: { statusCode: 422 },
      error: { code: "invalid", message: "body.x: Extra inputs are not permitted" },
      usage: null,
    });
  });

  test.each<[string, object, { readonly code: string; readonly message: string } | null]>([
    ["a plain text", { error: "boom" }, { code: "provider_error", message: "boom" }],
    ["an object", { error: { code: 12, message: "boom" } }, { code: "12", message: "boom" }],
    [
      "words in place of a body",
      { response: { status_code: 500, body: "oops" } },
      { code: "http_500", message: "oops" },
    ],
    ["nothing at all", { response: null, error: null }, null],
  ])("with %s as error", (_case, line, error) => {
    expect(read(line).error).toEqual(error);
  });

  test("without a name is unreadable", () => {
    expect(() => toResultLine({ response: null }, "")).toThrow(expect.objectContaining({ code: "RESULTS_UNREADABLE" }));
  });
});

describe("an error", () => {
  test.each([
    [401, '{"detail":"Unauthorized"}', "authOrBilling", "http_401", "Unauthorized"],
    [
      429,
      '{"object":"error","message":"Rate limit exceeded","type":"rate_limited","code":"1300"}',
      "rateLimited",
      "1300",
    ],
    [429, '{"message":"The workspace has too many pending requests"}', "tokenLimit", "http_429"],
    [403, '{"message":"Your spend limit is reached","code":9}', "authOrBilling", "9"],
    [422, '{"detail":[{"loc":["body","endpoint"],"msg":"Field required"}]}', "invalidRequest", "http_422"],
    [404, "Not Found", "definitelyNotCreated", "http_404", "Not Found"],
    [503, "<html>", "unknown", "http_503"],
    [200, '{"id":"j1"}', "unknown", "http_200"],
  ])("%i %s is %s", (status, body, kind, code, message?: string) => {
    const classified = classify(thrown(status, body), "create");
    expect(classified).toMatchObject({ kind, code, ...(message === undefined ? {} : { message }) });
    if (kind === "rateLimited") expect(classified).toMatchObject({ retryAfterMs: 7_000 });
  });

  test("of a connection that was refused proves that nothing was sent, others prove nothing", () => {
    const refused = new Error("Unable to make request", { cause: { cause: { code: "ECONNREFUSED" } } });
    expect(classify(refused, "create").kind).toBe("definitelyNotCreated");
    expect(classify(new Error("Request timed out"), "create").kind).toBe("unknown");
  });

  test.each([
    [[{ message: "A line is not a JSON object.", count: 2 }], "invalidRequest"],
    [[{ message: "Internal server error", count: 1 }], "unknown"],
    [[{ message: "Too many pending requests", count: 1 }], "tokenLimit"],
    [[{ message: "Your credit is used up", count: 1 }], "authOrBilling"],
    [[{ message: "Payment required", count: 1 }], "authOrBilling"],
    [[{ message: "You have reached the usage limit of your plan", count: 1 }], "authOrBilling"],
    [[{ message: "tools.0: unknown function get_credit_score", count: 1 }], "invalidRequest"],
    [[{ message: "Invalid field payment_method_id", count: 1 }], "invalidRequest"],
    [[{ message: "response_format: time_spend is not a type", count: 1 }], "invalidRequest"],
  ])("of a whole job, %j, is %s", (errors, kind) => {
    expect(classifyJobErrors(errors)).toMatchObject({ kind, code: "job_failed", message: errors[0]?.message });
  });

  test("of a whole job that says nothing is none", () => {
    for (const errors of [[], null, [{}]]) expect(classifyJobErrors(errors)).toBeNull();
  });
});

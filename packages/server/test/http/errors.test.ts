import { describe, expect, test } from "vitest";
import { fromFailure, invalidRequest } from "../../src/http/errors.ts";

const withCode = (code: string): Error => Object.assign(new Error("the cause"), { code });
const soon = (): number => 3;

describe("a failed request", () => {
  test.each([
    ["QUEUE_FULL", 429, "rate_limit_error", "queue_full", undefined],
    ["OVERLOADED", 429, "rate_limit_error", "overloaded", undefined],
    ["DEADLINE_EXCEEDED", 504, "server_error", "deadline_exceeded", undefined],
    ["CLOSED", 503, "server_error", "shutting_down", undefined],
    ["MODEL_INPUT", 400, "invalid_request_error", "invalid_input", "false"],
    ["MODEL_FAILED", 500, "server_error", "model_failed", "false"],
    ["THREAD_ENDED", 500, "server_error", "model_stopped", undefined],
  ])("with %s is answered with %i", (code, status, type, answered, retry) => {
    const error = fromFailure(withCode(code), soon);
    expect(error).toMatchObject({ status, type, code: answered });
    expect(error.headers["x-should-retry"]).toBe(retry);
  });

  test("says when to come back if the queue was full", () => {
    expect(fromFailure(withCode("QUEUE_FULL"), soon).headers["retry-after"]).toBe("3");
  });

  test.each([
    [{ retryAfterMs: 40 }, "1", "40"],
    [{ retryAfterMs: 1_000.5 }, "2", "1001"],
    [{}, "1", "1"],
  ])("says in seconds and in ms when to come back if the server is overloaded: %j", (fields, seconds, ms) => {
    const { headers } = fromFailure(Object.assign(withCode("OVERLOADED"), fields), soon);
    expect(headers).toEqual({ "retry-after": seconds, "retry-after-ms": ms });
  });

  test("keeps the model's message and hides that of anything unforeseen", () => {
    expect(fromFailure(withCode("MODEL_FAILED"), soon).message).toContain("the cause");
    for (const failure of [new Error("secret"), "secret", undefined]) {
      expect(fromFailure(failure, soon)).toMatchObject({ status: 500, code: "internal_error" });
      expect(fromFailure(failure, soon).message).not.toContain("secret");
    }
  });

  test("has OpenAI's shape, with null for fields that do not apply", async () => {
    const response = invalidRequest("no", "input").toResponse();
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: { message: "no", type: "invalid_request_error", param: "input", code: null },
    });
  });
});

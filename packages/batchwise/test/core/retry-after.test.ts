import Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { retryAfterMs } from "../../src/core/contract/retry-after.ts";

const NOW = Date.UTC(2026, 0, 31, 12, 0, 0);
const DAY = 86_400_000;

/** The delay of these headers. */
function waitOf(headers: unknown): number | undefined {
  return retryAfterMs({ headers }, NOW);
}

describe("the errors of the official clients", () => {
  const body = { error: { message: "slow down", type: "rate_limit" } };

  test("of OpenAI say how long to wait", () => {
    const error = OpenAI.APIError.generate(429, body, undefined, new Headers({ "Retry-After": "7" }));
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(retryAfterMs(error, NOW)).toBe(7_000);
    const precise = OpenAI.APIError.generate(429, body, undefined, new Headers({ "retry-after-ms": "250.5" }));
    expect(retryAfterMs(precise, NOW)).toBe(250.5);
  });

  test("of Anthropic say how long to wait", () => {
    const error = Anthropic.APIError.generate(529, body, undefined, new Headers({ "retry-after": "0.5" }));
    expect(error).toBeInstanceOf(Anthropic.InternalServerError);
    expect(retryAfterMs(error, NOW)).toBe(500);
  });

  test("have no wait without the header, or without an answer", () => {
    expect(retryAfterMs(OpenAI.APIError.generate(429, body, undefined, new Headers()), NOW)).toBeUndefined();
    expect(retryAfterMs(new OpenAI.APIConnectionError({ message: "gone" }), NOW)).toBeUndefined();
    expect(retryAfterMs(new Anthropic.APIUserAbortError(), NOW)).toBeUndefined();
  });

  test("keep their wait on the way through the client", async () => {
    const headers = { "retry-after": "11" };
    const fetch = async (): Promise<Response> => new Response(JSON.stringify(body), { status: 429, headers });
    const client = new OpenAI({ apiKey: "none", baseURL: "http://provider.test", maxRetries: 0, fetch });
    const error = await client.embeddings.create({ model: "m", input: "x" }).catch((reason: unknown) => reason);
    expect(retryAfterMs(error, NOW)).toBe(11_000);
  });
});

describe("where the wait is found", () => {
  test("`retryAfterMs` of the error comes before its headers", () => {
    expect(retryAfterMs({ retryAfterMs: 40, headers: { "retry-after": "9" } }, NOW)).toBe(40);
    expect(retryAfterMs({ retryAfterMs: 0 }, NOW)).toBe(0);
    expect(retryAfterMs({ retryAfterMs: "40", headers: { "retry-after": "9" } }, NOW)).toBe(9_000);
    expect(retryAfterMs({ retryAfterMs: -1, headers: { "retry-after": "9" } }, NOW)).toBe(9_000);
  });

  test("`retry-after-ms` comes before `retry-after`, unless it cannot be read", () => {
    expect(waitOf({ "retry-after-ms": "30", "retry-after": "9" })).toBe(30);
    expect(waitOf({ "retry-after-ms": "soon", "retry-after": "9" })).toBe(9_000);
  });

  test.each([
    ["headers", { headers: { "retry-after": "3" } }],
    ["response.headers", { response: { headers: { "retry-after": "3" } } }],
    ["responseHeaders", { responseHeaders: { "retry-after": "3" } }],
    [
      "the second place where the first has none",
      { headers: {}, response: { headers: new Headers({ "retry-after": "3" }) } },
    ],
    ["a function with properties", Object.assign(() => {}, { headers: { "retry-after": "3" } })],
  ])("in %s", (_place, error) => {
    expect(retryAfterMs(error, NOW)).toBe(3_000);
  });

  test.each([
    ["Headers", new Headers({ "RETRY-AFTER": "3" })],
    ["a plain object", { "Retry-After": "3" }],
    ["an object without a prototype", Object.assign(Object.create(null), { "retry-after": "3" })],
    ["a Map", new Map([["Retry-After", "3"]])],
    ["an object with get()", { get: (name: string) => (name === "retry-after" ? "3" : null) }],
    ["a plain object with a header of the name get", { get: "x", "retry-after": "3" }],
    ["a list of values", { "retry-after": ["3", "4"] }],
    ["a number", { "retry-after": 3 }],
    ["space around it", { "retry-after": " 3 " }],
  ])("in headers that are %s", (_kind, headers) => {
    expect(waitOf(headers)).toBe(3_000);
  });
});

describe("the value of `retry-after`", () => {
  test.each([
    ["0", 0],
    ["1.5", 1_500],
    ["86400", DAY],
    ["86401", DAY],
    ["99999999999999999999999", DAY],
    ["Sat, 31 Jan 2026 12:00:30 GMT", 30_000],
    ["Saturday, 31-Jan-26 12:00:30 GMT", 30_000],
    ["Sat Jan 31 12:00:30 2026", 30_000],
    ["2026-01-31T12:00:30Z", 30_000],
    ["2026-01-31T13:00:30+01:00", 30_000],
    ["Sat, 31 Jan 2027 12:00:00 GMT", DAY],
  ])("%s is %d ms", (value, ms) => {
    expect(waitOf({ "retry-after": value })).toBe(ms);
  });

  test.each([
    "",
    "-5",
    "-0.5",
    "NaN",
    "Infinity",
    "soon",
    "5s",
    "1e3",
    "0x10",
    "2026-01-31",
    "31 Jan 2026",
    "25:99:99",
    "Sat, 31 Jan 2026 11:59:59 GMT",
  ])("%j requests no wait", (value) => {
    expect(waitOf({ "retry-after": value })).toBeUndefined();
  });

  test("that is a date requests no wait where the time is not known", () => {
    expect(retryAfterMs({ headers: { "retry-after": "Sat, 31 Jan 2026 12:00:30 GMT" } }, Number.NaN)).toBeUndefined();
  });
});

describe("an error that cannot be read", () => {
  const throwing = {
    get retryAfterMs(): number {
      throw new Error("no");
    },
  };
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error("no");
      },
      ownKeys: () => {
        throw new Error("no");
      },
    },
  );

  test.each([
    ["undefined", undefined],
    ["null", null],
    ["a string", "retry-after: 5"],
    ["a symbol", Symbol("x")],
    ["a number", 5],
    ["a getter that throws", throwing],
    ["a revoked Proxy", revoked],
    ["a Proxy whose traps throw", hostile],
    ["headers that are a revoked Proxy", { headers: revoked }],
    ["headers that are a Proxy whose traps throw", { headers: hostile }],
    ["headers with a get() that throws", { headers: { get: () => hostile.valueOf() } }],
    ["headers with a value that throws", { headers: { "retry-after": hostile } }],
    ["headers that are a string", { headers: "retry-after: 5" }],
    ["a wait that is a list that throws", { headers: { "retry-after": revoked } }],
    ["a wait that is a bigint", { retryAfterMs: 5n }],
  ])("requests no wait: %s", (_kind, error) => {
    expect(retryAfterMs(error, NOW)).toBeUndefined();
  });

  test("does not hide a readable value", () => {
    const error = Object.defineProperties(
      { headers: hostile, responseHeaders: { "retry-after": "3" } },
      {
        retryAfterMs: {
          get: () => {
            throw new Error("no");
          },
        },
      },
    );
    expect(retryAfterMs(error, NOW)).toBe(3_000);
  });

  test("never throws and never requests an invalid wait, for any value", () => {
    const value = fc.anything({ withMap: true, withNullPrototype: true });
    const error = fc.oneof(
      fc.record({ retryAfterMs: value, headers: value }),
      fc.record({ headers: fc.dictionary(fc.constantFrom("retry-after", "Retry-After-Ms", "get"), value) }),
    );
    fc.assert(
      fc.property(error, (thrown) => {
        const ms = retryAfterMs(thrown, NOW) ?? 0;
        expect(ms >= 0 && ms <= DAY).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

// Secrets in texts and errors: which are removed, and which texts are unchanged.

import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { DispatchError } from "../../../src/dispatch/contract/errors.ts";
import { Secrets } from "../../../src/dispatch/format/secrets.ts";
import { secretsInHeaders } from "../../../src/dispatch/providers/shapes/sdk/client-secrets.ts";
import { foreign } from "../support/foreign-headers.ts";

const KEY = "sk-live-0123456789";
const secrets = new Secrets(() => [KEY]);

function fail(): never {
  throw new Error(`No prototype for ${KEY}.`);
}

describe("a text", () => {
  test("is given back without a known secret, however it is written", () => {
    const odd = new Secrets(() => ['pass"word/with ümlaut']);
    expect(secrets.text(`key ${KEY}, again ${KEY}.`)).toBe("key [secret], again [secret].");
    expect(odd.text(JSON.stringify({ said: 'pass"word/with ümlaut' }))).toBe('{"said":"[secret]"}');
    expect(odd.text(`https://u:${encodeURIComponent('pass"word/with ümlaut')}@host`)).toBe("https://u:[secret]@host");
  });

  test("keeps a secret of fewer than 12 characters, which may be any word", () => {
    expect(new Secrets(() => ["test", "elevenchars"]).text("a test of elevenchars")).toBe("a test of elevenchars");
  });

  test("loses the text after Bearer or Basic, known or not, and keeps plain words behind them", () => {
    expect(secrets.text("authorization: Bearer abcdef-123456")).toBe("authorization: Bearer [secret]");
    expect(secrets.text("Basic dXNlcjpwYXNzd29yZA==")).toBe("Basic [secret]");
    const plan = "Upgrade the basic gpt-4o-mini-2024-07-18 plan.";
    expect(secrets.text(plan)).toBe(plan);
    expect(secrets.text("It wants Bearer authentication.")).toBe("It wants Bearer authentication.");
  });

  test("loses the value of a header that the platform refuses, and JSON stays JSON", () => {
    const error = headerError(`Bearer not-known"\nat all 12`);
    expect(error.message).toContain("not-known");
    expect(secrets.text(error.message)).toMatch(/^Headers\.\w+: "\[secret\]" is an invalid header value\.$/);
    const json = JSON.stringify({ code: 'a "quote"', message: error.message, after: "b" });
    const { code, message, after } = JSON.parse(secrets.text(json)) as Record<string, string>;
    expect([code, after]).toEqual(['a "quote"', "b"]);
    expect(message).toMatch(/"\[secret\]" is an invalid header value/);
  });
});

test("a hostile text of a megabyte is looked through within a second", () => {
  const refused = " is an invalid header value";
  const hostile = [
    ...['Headers.append: "', "Bearer ", "Bearer a", "Basic%20", 'Headers.set: \\"\\\\', " \n", "sk-live-012345678"],
    ...[`"${refused}`, `Headers.append: ""${refused}`, `Headers.a: \\"\\"${refused}`],
  ];
  for (const piece of hostile) {
    const text = `${piece.repeat(Math.ceil(1e6 / piece.length))}${refused}`;
    const began = performance.now();
    secrets.text(text);
    secrets.text(`Bearer${text}`);
    expect(performance.now() - began).toBeLessThan(2_000);
  }
});

describe("an error", () => {
  test("in which nothing is secret is the same object", () => {
    const error = new DispatchError("STORE_FULL", "Full.", new Error("disk"));
    expect(secrets.error(error)).toBe(error);
    expect(secrets.error("text")).toBe("text");
    expect(secrets.error(null)).toBe(null);
  });

  test("is a copy of its class, blanked in its message, stack, causes and fields", () => {
    const cause = Object.assign(new TypeError(`cause ${KEY}`), { code: "EX", body: { deep: [`x${KEY}`] } });
    const error = new DispatchError("ACCOUNT_PAUSED", `The key ${KEY} is refused.`, cause);
    const headers = new Headers({ authorization: `Bearer ${KEY}`, date: "today" });
    const told = secrets.error(Object.assign(error, { headers, status: 401 })) as DispatchError;
    expect(told).toBeInstanceOf(DispatchError);
    expect(told).toMatchObject({ code: "ACCOUNT_PAUSED", status: 401, message: "The key [secret] is refused." });
    expect(told.cause).toBeInstanceOf(TypeError);
    expect(told.cause).toMatchObject({ code: "EX", body: { deep: ["x[secret]"] } });
    expect(inspect(told, { depth: 10, showHidden: true })).not.toContain(KEY);
    // The client's own object is unchanged.
    expect(error.message).toContain(KEY);
  });

  test("of a client with a fetch of its own is blanked in its headers, too", () => {
    const headers = foreign(new Headers({ authorization: `Bearer ${KEY}`, date: "today" }));
    const response = { url: `http://host/${KEY}`, headers, [Symbol.toStringTag]: "Response" };
    const error = Object.assign(new Error("failed"), { headers, response });
    const told = secrets.error(error) as typeof error;
    expect([...told.headers]).toEqual([
      ["authorization", "Bearer [secret]"],
      ["date", "today"],
    ]);
    expect(told.response.url).toBe("http://host/[secret]");
    expect(told.response.headers.get("authorization")).toBe("Bearer [secret]");
  });

  test("is blanked in headers of a class with a tag of its own", () => {
    class Traced extends Headers {
      get [Symbol.toStringTag](): string {
        return "Traced";
      }
    }
    const headers = new Traced({ "x-api-key": KEY });
    expect(secretsInHeaders(headers)).toContain(KEY);
    const told = secrets.error(Object.assign(new Error("failed"), { headers })) as { readonly headers: Headers };
    expect([...told.headers]).toEqual([["x-api-key", "[secret]"]]);
  });

  test.each(["Headers", "Request", "Response"])("stays itself with half a %s in it, and is blanked there", (tag) => {
    const half = { [Symbol.toStringTag]: tag, note: "x" };
    const error = Object.assign(new RangeError("Slow down."), { status: 429, half });
    expect(secrets.error(error)).toBe(error);
    const told = secrets.error(Object.assign(error, { half: { ...half, note: KEY } }));
    expect(told).toBeInstanceOf(RangeError);
    expect(told).toMatchObject({ status: 429, half: { note: "[secret]" } });
  });

  test("of another realm is blanked in its stack, too", () => {
    const error: unknown = runInNewContext("Object.assign(new RangeError('failed'), { status: 429 })");
    Object.assign(Object(error), { stack: `RangeError: ${KEY}` });
    expect(secrets.error(error)).toMatchObject({ message: "failed", status: 429, stack: "RangeError: [secret]" });
  });

  test("whose cause is a DOMException, or that cannot be copied, is blanked and throws nothing", () => {
    const aborted = AbortSignal.abort().reason as DOMException;
    const told = secrets.error(new Error(`Unauthorized: Bearer abcdefghijkl12345`, { cause: aborted })) as Error;
    expect(told.message).toBe("Unauthorized: Bearer [secret]");
    expect([(told.cause as Error).name, (told.cause as Error).message]).toEqual([aborted.name, aborted.message]);
    const secret = secrets.error(new Error(KEY, { cause: new DOMException(KEY, "TimeoutError") })) as Error;
    expect(inspect(secret)).not.toContain(KEY);
    const hostile = Object.defineProperty(new Error(KEY), "rows", { value: new Proxy({}, { getPrototypeOf: fail }) });
    expect(String(secrets.error(hostile))).not.toContain(KEY);
  });

  test("is a DOMException of another realm, and is blanked", () => {
    class Foreign {
      readonly name = "TimeoutError";
      get message(): string {
        return KEY;
      }
      get [Symbol.toStringTag](): string {
        return "DOMException";
      }
    }
    const told = secrets.error(new Error("failed", { cause: new Foreign() })) as { readonly cause: Error };
    expect([told.cause.name, told.cause.message]).toEqual(["TimeoutError", "[secret]"]);
  });

  test("of thousands of values is blanked behind them, too", () => {
    const rows = Array.from({ length: 2_500 }, (_, id) => ({ id }));
    const told = secrets.error(Object.assign(new Error("Failed."), { rows, config: { auth: KEY } }));
    expect(JSON.stringify(told)).not.toContain(KEY);
  });

  test("with a request of the client in it shows no headers, and one that holds itself ends", () => {
    const request = new Request("http://host/x", { headers: { authorization: `Bearer ${KEY}` } });
    const error = Object.assign(new Error("failed"), { request, self: {} });
    error.self = error;
    const told = secrets.error(error) as Error;
    expect(told).toMatchObject({ message: "failed", request: { url: "http://host/x" } });
    expect(inspect(told, { depth: 10, showHidden: true })).not.toContain(KEY);
  });
});

function headerError(value: string): Error {
  try {
    new Headers().append("authorization", value);
  } catch (error) {
    return error as Error;
  }
  throw new Error("The platform takes the value.");
}

// Messages of errors: the innermost cause of a failed connection, with its host and code.

import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import {
  isMistake,
  isSyntaxError,
  messageIn,
  withInnermostCause,
  wordsOf,
} from "../../../src/dispatch/format/client-error.ts";
import { proxyHint } from "../../../src/dispatch/format/proxy-hint.ts";

function failed(cause: object): Error {
  return new Error("Connection error.", { cause: new TypeError("fetch failed", { cause }) });
}

const coded = (message: string, fields: object): Error => Object.assign(new Error(message), fields);

describe("an error's words", () => {
  test.each<[string, object, string]>([
    [
      "a name that is not known",
      coded("getaddrinfo ENOTFOUND api.test", { code: "ENOTFOUND", syscall: "getaddrinfo", hostname: "api.test" }),
      "Connection error: fetch failed: getaddrinfo ENOTFOUND api.test",
    ],
    [
      "two addresses of one name, both refused",
      Object.assign(
        new AggregateError([coded("connect ECONNREFUSED ::1:1", {}), coded("connect ECONNREFUSED 127.0.0.1:1", {})]),
        { code: "ECONNREFUSED" },
      ),
      "Connection error: fetch failed: connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1",
    ],
    [
      "a connection that was closed",
      coded("other side closed", { code: "UND_ERR_SOCKET", socket: { remoteAddress: "10.0.0.1", remotePort: 443 } }),
      "Connection error: fetch failed: other side closed (UND_ERR_SOCKET, 10.0.0.1:443)",
    ],
    [
      "a certificate of an authority that is not known",
      coded("self-signed certificate in certificate chain", { code: "SELF_SIGNED_CERT_IN_CHAIN" }),
      "Connection error: fetch failed: self-signed certificate in certificate chain (SELF_SIGNED_CERT_IN_CHAIN); NODE_EXTRA_CA_CERTS names a file with further authorities",
    ],
    [
      "no descriptors",
      coded("connect EMFILE 10.0.0.1:443", { code: "EMFILE" }),
      "Connection error: fetch failed: connect EMFILE 10.0.0.1:443; this process has no file descriptor left: raise its limit (`ulimit -n`)",
    ],
  ])("of %s have its host and code", (_what, cause, words) => {
    expect(wordsOf(failed(cause))).toBe(words);
    const told = withInnermostCause(failed(cause)) as Error;
    expect(told.message).toBe(words);
    expect(told.stack).toMatch(/^Error: Connection error: fetch failed/);
    expect(told.cause).toBeInstanceOf(TypeError);
  });

  test("of an answer, of another error and of one that says it already stay as they are", () => {
    const answered = coded("503 Service Unavailable", { status: 503, cause: coded("x", { code: "ECONNRESET" }) });
    const full = new Error("No: connect ECONNREFUSED 1.2.3.4:5.", {
      cause: coded("connect ECONNREFUSED 1.2.3.4:5", { code: "ECONNREFUSED" }),
    });
    for (const error of [answered, full, new Error("It broke.", { cause: new Error("Because.") }), "text", null]) {
      expect(withInnermostCause(error)).toBe(error);
    }
    expect(wordsOf(null)).toBe("null");
  });
});

describe("a proxy in the environment", () => {
  const HTTPS_PROXY = "http://me:pass-word-0123@proxy.test:3128";
  const hint = (
    version: string,
    more: Record<string, string> = {},
    host: string | null = "api.test",
    options: string[] = [],
  ) => proxyHint(host, { environment: { HTTPS_PROXY, ...more }, version, options });

  test.each(["22.21.0", "22.99.0", "24.0.0", "24.9.0", "26.1.0"])(
    "is used by Node.js %s only when enabled",
    (version) => {
      expect(hint(version)).toBe(`HTTPS_PROXY is set, and Node.js ${version} uses it only with NODE_USE_ENV_PROXY=1`);
      expect(hint(version, { NODE_USE_ENV_PROXY: "1" })).toBe(null);
      expect(hint(version, { NODE_OPTIONS: "--use-env-proxy" })).toBe(null);
      expect(hint(version, {}, "api.test", ["--use-env-proxy"])).toBe(null);
    },
  );

  test.each(["20.19.0", "22.20.0", "23.11.0"])("is not used by Node.js %s", (version) => {
    const words = `HTTPS_PROXY is set, and Node.js ${version} does not use it: give the client undici's ProxyAgent`;
    expect(hint(version)).toBe(words);
    expect(hint(version, { NODE_USE_ENV_PROXY: "1" })).toBe(words);
  });

  test("does not apply to this machine, to excluded hosts, and to itself", () => {
    for (const host of ["localhost", "127.0.0.1", "::1", "proxy.test"]) expect(hint("24.9.0", {}, host)).toBe(null);
    for (const NO_PROXY of ["a.b, api.test", ".test", "*", "*.test"]) expect(hint("24.9.0", { NO_PROXY })).toBe(null);
    expect(hint("24.9.0", { NO_PROXY: "other.test" })).not.toBe(null);
    expect(hint("24.9.0", { HTTPS_PROXY: "" })).toBe(null);
    expect(hint("24.9.0", {}, null)).not.toContain("pass-word");
  });
});

test("an error of another realm says and is the same", () => {
  const thrownBy = (code: string): unknown => runInNewContext(`try { ${code} } catch (error) { error }`);
  expect(["undefined.x", "missing", "[].length = -1"].map((code) => isMistake(thrownBy(code)))).toEqual([
    true,
    true,
    true,
  ]);
  expect(isMistake(thrownBy("throw new TypeError('fetch failed')"))).toBe(false);
  expect(isSyntaxError(thrownBy("JSON.parse('{')"))).toBe(true);
  expect(messageIn(thrownBy("throw new TypeError('fetch failed')"))).toBe("fetch failed");
});

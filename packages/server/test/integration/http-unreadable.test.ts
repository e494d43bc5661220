// Bytes on a connection that are not a request for the routes.

import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { Connections } from "../../src/http/requests/connections.ts";
import { answerUnreadable, explainRefusals } from "../../src/http/requests/unreadable-requests.ts";
import { exchange, startSmall } from "../support/services.ts";

const HOST = "host: localhost\r\n";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: unknown;
}

/** One whole answer: status, headers, and the `error` of its JSON. */
function read(text: string): Answer {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(": ")));
  expect(headers["content-length"]).toBe(String(Buffer.byteLength(body)));
  const { error } = JSON.parse(body) as { readonly error: unknown };
  return { status: Number(first.split(" ")[1]), headers, error };
}

describe("an input that is no request", () => {
  test.each([
    ["a Host header that is no host", "GET /v1/models HTTP/1.1\r\nhost: a b\r\n", 400, "malformed_request"],
    ["a Host header with a path", "GET /v1/models HTTP/1.1\r\nhost: evil/path\r\n", 400, "malformed_request"],
    ["a Host header in Punycode that is none", "GET /v1/models HTTP/1.1\r\nhost: xn--a\r\n", 400, "malformed_request"],
    ["a health check under such a host", "GET /healthz HTTP/1.1\r\nhost: xn--a\r\n", 400, "malformed_request"],
    [
      "a body under an address that is none",
      `POST /v1/embeddings HTTP/1.1\r\nhost: 1.2.3.4.5\r\n`,
      400,
      "malformed_request",
    ],
    ["a path that is none", `GET nowhere HTTP/1.1\r\n${HOST}`, 400, "malformed_request"],
    ["an unknown method", `LOOK / HTTP/1.1\r\n${HOST}`, 400, "malformed_request"],
    ["no HTTP", "hello\r\n", 400, "malformed_request"],
    ["a broken header", `GET / HTTP/1.1\r\n${HOST}a b\r\n`, 400, "malformed_request"],
    ["too large headers", `GET / HTTP/1.1\r\n${HOST}x: ${"a".repeat(20_000)}\r\n`, 431, "headers_too_large"],
    ["an odd expectation", `GET / HTTP/1.1\r\n${HOST}expect: a-lot\r\n`, 417, "expectation_failed"],
  ])("as %s, is answered as other errors are", async (_, head, status, code) => {
    const answer = read(await exchange(await startSmall(), `${head}connection: close\r\n\r\n`));
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "x-request-id": expect.stringMatching(/^req_[0-9a-f]{32}$/),
      "x-should-retry": "false",
    });
    const message = expect.stringMatching(/^(Expected|The request).*\.$/);
    expect(answer.error).toEqual({ message, type: "invalid_request_error", param: null, code });
  });

  test("as CONNECT, is refused as a wrong method, after the answers to earlier requests", async () => {
    const service = await startSmall();
    const tunnel = `CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n`;
    const answer = read(await exchange(service, tunnel));
    expect(answer).toMatchObject({ status: 405, error: { type: "invalid_request_error", code: "method_not_allowed" } });
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "x-request-id": expect.stringMatching(/^req_[0-9a-f]{32}$/),
      allow: "get, post",
    });
    const [models = "", refused = ""] = (
      await exchange(service, `GET /v1/models HTTP/1.1\r\n${HOST}\r\n${tunnel}`)
    ).split(/(?=HTTP\/1\.1 405)/);
    expect(models).toMatch(/^HTTP\/1\.1 200 .*"object":"list"/s);
    expect(read(refused).status).toBe(405);
  });

  test("as a broken body, is answered too, and the connection closed", async () => {
    const head = `POST /v1/embeddings HTTP/1.1\r\n${HOST}content-type: application/json\r\ntransfer-encoding: chunked`;
    const answer = read(await exchange(await startSmall(), `${head}\r\n\r\nno length\r\n`));
    expect(answer).toMatchObject({ status: 400, error: { code: "malformed_request" } });
  });
});

describe("a request that takes too long to come", () => {
  test("is answered with 408", async () => {
    const server = createServer({ headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 20 });
    explainRefusals(server, new Connections(server));
    server.listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\n"));
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk.toString();
    });
    await new Promise((resolve) => socket.once("close", resolve));
    expect(read(answer)).toMatchObject({ status: 408, error: { code: "request_timeout" } });
  });
});

describe("a failure of the server's own before there is a request", () => {
  test("is an internal error, which says nothing of it", async () => {
    const answer = answerUnreadable(new Error("secret"));
    expect(answer.status).toBe(500);
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
    expect(await answer.json()).toMatchObject({ error: { code: "internal_error" } });
  });
});

// Callers who send `expect: 100-continue` and send the body only when the service requests it.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { startSmall, until } from "../support/services.ts";

const BODY = JSON.stringify({ model: "batchwise-demo", input: "a" });

interface Waiting {
  readonly socket: Socket;
  /** What comes first. */
  readonly first: Promise<string>;
}

/** Sends the head of a request whose body waits. */
async function announce(port: number, head: string, version = "1.1"): Promise<Waiting> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(`${head} HTTP/${version}\r\nhost: localhost\r\nexpect: 100-continue\r\n`);
  return { socket, first: once(socket, "data").then(String) };
}

const JSON_TYPE = "content-type: application/json\r\n";

describe("a caller that waits for 100 Continue", () => {
  test("gets it before the body, and then the answer on a connection that continues", async () => {
    const { socket, first } = await announce((await startSmall()).port, "POST /v1/embeddings");
    socket.write(`${JSON_TYPE}content-length: ${BODY.length}\r\n\r\n`);
    expect(await first).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write(BODY);
    const answer = String(await once(socket, "data"));
    expect(answer).toMatch(/^HTTP\/1.1 200 [\s\S]*connection: keep-alive/i);
  });

  test.each([
    ["413: the body is too large", "POST /v1/embeddings", `${JSON_TYPE}content-length: 1000000000`, 413],
    ["415: it is not JSON", "POST /v1/embeddings", "content-type: text/plain\r\ncontent-length: 9", 415],
    ["415: it is compressed", "POST /v1/embeddings", `${JSON_TYPE}content-encoding: br\r\ncontent-length: 9`, 415],
    ["400: a header is wrong", "POST /v1/embeddings", `${JSON_TYPE}x-priority: high\r\ncontent-length: 9`, 400],
    ["403: a page of another origin asks", "POST /v1/embeddings", `origin: http://evil\r\ncontent-length: 9`, 403],
    ["404: there is no such route", "POST /embeddings", `${JSON_TYPE}content-length: 9`, 404],
    ["405: the route has another method", "POST /v1/models", `${JSON_TYPE}content-length: 9`, 405],
  ])("gets none where the headers are refused, with %s", async (_, head, rest, status) => {
    const { socket, first } = await announce((await startSmall()).port, head);
    socket.write(`${rest}\r\n\r\n`);
    expect(await first).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  test("behind a slow answer gets its turn before the clock of its body starts", async () => {
    const service = await startSmall({ maxWaitMs: 1200, uploadStallMs: 800 });
    const socket = connect(service.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const head = `POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\n${JSON_TYPE}content-length: ${BODY.length}\r\n`;
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
      if (text.endsWith("100 Continue\r\n\r\n")) socket.write(BODY);
    });
    socket.write(`${head}\r\n${BODY}${head}expect: 100-continue\r\n\r\n`);
    await until(() => text.match(/HTTP\/1.1 [^1]\d\d/g)?.length === 2);
    expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 100", "HTTP/1.1 200"]);
  });

  test("gets none in HTTP/1.0, which does not know it", async () => {
    const { socket, first } = await announce((await startSmall()).port, "POST /v1/embeddings", "1.0");
    socket.write(`${JSON_TYPE}content-length: ${BODY.length}\r\n\r\n${BODY}`);
    expect(await first).toMatch(/^HTTP\/1.1 200 /);
  });
});

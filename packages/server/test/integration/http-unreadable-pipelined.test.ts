// Unreadable bytes behind requests of the same connection that are not answered yet.

import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { Connections } from "../../src/http/requests/connections.ts";
import { explainRefusals } from "../../src/http/requests/unreadable-requests.ts";
import { exchange, startSmall, until } from "../support/services.ts";

const GET = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
const GARBAGE = "no HTTP\r\n\r\n";
const BROKEN_BODY = "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nno length\r\n";

interface Connection {
  readonly socket: Socket;
  /** The answers that the server owes, or has given, in the order of their requests. */
  readonly answers: readonly ServerResponse[];
  /** All that has come back. */
  received(): string;
  /** Resolves when the server has met unreadable bytes this many times. */
  failed(times?: number): Promise<void>;
  readonly closed: Promise<unknown>;
}

/** A connection to a server of which the test gives the answers. */
async function open(listener: RequestListener = () => undefined): Promise<Connection> {
  const answers: ServerResponse[] = [];
  const server = createServer((request, response) => {
    answers.push(response);
    listener(request, response);
  });
  explainRefusals(server, new Connections(server));
  let failures = 0;
  server.on("clientError", () => {
    failures += 1;
  });
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const socket = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString();
  });
  socket.once("end", () => socket.end());
  return {
    socket,
    answers,
    received: () => text,
    failed: (times = 1) => until(() => failures >= times),
    closed: once(socket, "close"),
  };
}

/** The bodies of all answers, of at least one; each has a length. */
function bodiesIn(text: string): string[] {
  return text.split(/HTTP\/1\.1 \d+ [\s\S]*?\r\n\r\n/).slice(1);
}

function begin(answer: ServerResponse | undefined, length: number, text: string): void {
  answer?.writeHead(200, { "content-length": length });
  answer?.write(text);
}

describe("an input that cannot be read as a request", () => {
  test("does not get into an answer being sent, nor keep the next from coming", async () => {
    const { socket, answers, received, failed, closed } = await open();
    socket.write(GET + GET);
    await until(() => answers.length === 2);
    begin(answers[0], 16, "the beginning");
    await until(() => received().endsWith("the beginning"));
    socket.write(GARBAGE);
    await failed();
    socket.write(GARBAGE);
    await failed(2);
    answers[0]?.end("end");
    await until(() => received().endsWith("end"));
    answers[1]?.end("the second");
    await closed;
    expect(bodiesIn(received())).toEqual(["the beginningend", "the second"]);
  });

  test("does not take the answer of the request before it", async () => {
    const body = JSON.stringify({ model: "batchwise-demo", input: "hello" });
    const head = `POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}`;
    const answer = await exchange(await startSmall(), `${head}\r\n\r\n${body}${GARBAGE}`);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer).not.toContain("malformed_request");
  });

  test("is not waited for by a caller that has closed its side", async () => {
    const { socket, answers, received, closed } = await open();
    socket.end(`${GET}GET / HTTP`);
    await closed;
    expect(answers).toHaveLength(1);
    expect(answers[0]?.writableFinished).toBe(false);
    expect(received()).toContain('"code":"connection_half_closed"');
  });
});

describe("a request with a broken body", () => {
  test("does not take the answer of the request before it", async () => {
    const { socket, answers, received, failed, closed } = await open();
    socket.write(GET + BROKEN_BODY);
    await failed();
    expect(answers).toHaveLength(2);
    answers[0]?.end("the first");
    await closed;
    expect(bodiesIn(received())).toEqual(["the first"]);
  });

  test("gets no error in the middle of its own answer", async () => {
    const { socket, answers, received, failed, closed } = await open((_, response) => begin(response, 16, "too "));
    socket.write(BROKEN_BODY);
    await failed();
    answers[0]?.end("large a body");
    await closed;
    expect(bodiesIn(received())).toEqual(["too large a body"]);
  });

  test("gets no second answer", async () => {
    const { socket, received, closed } = await open((_, response) => response.end("too large"));
    const [head, body] = BROKEN_BODY.split("no length");
    socket.write(String(head));
    await until(() => received().endsWith("too large"));
    socket.write(`no length${body}`);
    await closed;
    expect(bodiesIn(received())).toEqual(["too large"]);
  });

  test("is answered with 400 once the requests before it are", async () => {
    const { socket, answers, received, closed } = await open();
    socket.write(GET);
    await until(() => answers.length === 1);
    answers[0]?.end("the first");
    await until(() => received().endsWith("the first"));
    socket.write(BROKEN_BODY);
    await closed;
    expect(bodiesIn(received())).toEqual(["the first", expect.stringContaining("malformed_request")]);
  });
});

import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";
import { describe, expect, onTestFinished, test } from "vitest";
import { LargeAnswers } from "../../src/http/large-bodies/large-answers.ts";
import { Exchange } from "../../src/http/requests/exchange.ts";
import type { Service } from "../../src/http/service.ts";
import { embed, type Failure, startSmall, until } from "../support/services.ts";

/** 256 numbers a text: 2,048 texts are 2 MiB, and 10 MB of text. */
const WIDE = { encoder: { layers: 1, hidden: 256, feedForward: 64, vocabulary: 1024, maxTokens: 64 } };
const MANY: readonly string[] = Array.from({ length: 2_048 }, (_, index) => String(index));
const BODY = JSON.stringify({ model: "batchwise-demo", input: MANY });
const QUESTION = [
  "POST /v1/embeddings HTTP/1.1",
  "host: localhost",
  "content-type: application/json",
  `content-length: ${BODY.length}`,
].join("\r\n");

/** All that comes until so many answers have ended, each sent in chunks. */
async function readAnswers(socket: Socket, count: number): Promise<string> {
  const parts: string[] = [];
  let tail = "";
  let ended = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    const part = chunk.toString("latin1");
    parts.push(part);
    ended += (tail + part).split(END).length - 1;
    if (ended === count) break;
    tail = (tail + part).slice(1 - END.length);
  }
  return parts.join("");
}

const END = "\r\n0\r\n\r\n";

/** Asks for 2,048 vectors and reads their beginning only. */
async function slowReader(service: Service): Promise<Socket> {
  const socket = connect(service.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(`${QUESTION}\r\n\r\n${BODY}`);
  await new Promise((resolve) => socket.once("readable", resolve));
  return socket;
}

describe("a large answer", () => {
  test("arrives whole, and the connection continues", async () => {
    const service = await startSmall(WIDE);
    for (let round = 0; round < 2; round += 1) {
      const answer = await embed(service, MANY);
      const { data, usage } = (await answer.json()) as {
        data: { index: number; embedding: number[] }[];
        usage: object;
      };
      expect(data.map(({ index }) => index)).toEqual(MANY.map(Number));
      expect(data.every(({ embedding }) => embedding.length === 256)).toBe(true);
      expect(usage).toEqual({ prompt_tokens: 3 * 2_048, total_tokens: 3 * 2_048 });
    }
  });

  test("is cut off where nothing of it is read for a while", async () => {
    let isOver = false;
    const onAccess = (): void => {
      isOver = true;
    };
    const service = await startSmall({ ...WIDE, answerStallMs: 200, onAccess });
    const socket = await slowReader(service);
    // A client that does not read does not see the end either: the service's log does.
    await until(() => isOver);
    let length = 0;
    socket.on("data", (chunk: Buffer) => {
      length += chunk.length;
    });
    await new Promise((resolve) => socket.once("close", resolve));
    expect(length).toBeLessThan(9_000_000);
  });

  test("keeps no more texts out than while it is unread, and keeps nothing when its reader goes", async () => {
    const service = await startSmall({ ...WIDE, maxAnswerBytes: 1 });
    const socket = await slowReader(service);
    const refused = await embed(service, "x");
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(((await refused.json()) as Failure).error.code).toBe("answers_full");
    socket.destroy();
    // Once the server has noticed.
    let status: number;
    do status = (await embed(service, "x")).status;
    while (status === 503);
    expect(status).toBe(200);
  });

  test("is not cut off while an earlier answer of its connection is not sent yet", async () => {
    const answers = new LargeAnswers(1_000, 500);
    const large = "x".repeat(1_000_000);
    const server = createServer((request, response) => {
      if (request.url === "/first") setTimeout(() => response.end("first"), 1_000);
      else {
        const exchange = new Exchange(response);
        const body = answers.send({ pieces: ["second", large, large, large, "last"], bytes: 1_000, exchange });
        Readable.fromWeb(body as WebStream).pipe(response);
      }
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    socket.write(ask("/first") + ask("/second"));
    expect(await readAnswers(socket, 1)).toMatch(/first[\s\S]*\r\nsecond\r\n[\s\S]*\r\nlast\r\n0\r\n\r\n$/);
    expect(answers.hasRoom).toBe(true);
  });

  test("that is unread holds back its caller's next requests, without blaming the caller", async () => {
    const service = await startSmall({ ...WIDE, uploadStallMs: 600 });
    const socket = await slowReader(service);
    // Until the connection takes no more of the answer.
    await new Promise((resolve) => setTimeout(resolve, 300));
    socket.write(`${QUESTION}\r\n\r\n`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.write(BODY);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    const text = await readAnswers(socket, 2);
    expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
  });

  test("that was begun before a stop is the last of its connection, which does not hold the stop up", async () => {
    const service = await startSmall({ ...WIDE, drainTimeoutMs: 20_000 });
    const socket = await slowReader(service);
    const stoppedAt = performance.now();
    const stopped = service.close();
    let tail = "";
    socket.on("data", (chunk: Buffer) => {
      tail = (tail + chunk.toString("latin1")).slice(-END.length);
    });
    await new Promise((resolve) => socket.once("close", resolve));
    await stopped;
    expect(tail).toBe(END);
    expect(performance.now() - stoppedAt).toBeLessThan(15_000);
  });
});

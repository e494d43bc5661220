import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Service } from "../../src/http/service.ts";
import { embed, type Failure, startSmall, until } from "../support/services.ts";

describe("a request with more texts than the queue holds", () => {
  test("gets 413 with both numbers, since no waiting helps, while one that fits is answered", async () => {
    const service = await startSmall({ maxQueueSize: 4 });
    const refused = await embed(service, ["a", "b", "c", "d", "e"]);
    expect(refused.status).toBe(413);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(refused.headers.get("retry-after")).toBeNull();
    const { error } = (await refused.json()) as Failure;
    expect(error).toMatchObject({ code: "more_than_queue_holds", param: "input" });
    expect(error.message).toMatch(/\b5 texts\b.*\b4\b/);
    expect((await embed(service, ["a", "b", "c", "d"])).status).toBe(200);
  });
});

describe("uploads", () => {
  const MIB = 1024 * 1024;

  /** A request that says its length, and sends so much of it. */
  const halfSent = async (service: Service, length: number, sent: number): Promise<Socket> => {
    const socket = connect(service.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(
      `POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
    );
    socket.write(" ".repeat(sent));
    await once(socket, "ready");
    return socket;
  };
  const statusOf = async (socket: Socket): Promise<string> => String(await once(socket, "data"));
  const text = JSON.stringify("a".repeat(MIB / 2));

  test("that announce much and send little hold no room", async () => {
    const service = await startSmall({ maxBodyBytes: MIB, maxUploadBytes: 8 * MIB });
    const sockets = await Promise.all(Array.from({ length: 12 }, () => halfSent(service, MIB, 1)));
    // The text is too long for the model: the body was read.
    expect((await embed(service, text)).status).toBe(400);
    for (const socket of sockets) socket.destroy();
  });

  test("of one caller have half of the room at most: the next gets 503, and others are read", async () => {
    const service = await startSmall({ maxBodyBytes: MIB, maxUploadBytes: 4 * MIB });
    const sockets = await Promise.all(Array.from({ length: 12 }, () => halfSent(service, MIB, MIB - 1000)));
    const refused: string[] = [];
    for (const socket of sockets) socket.on("data", (chunk) => refused.push(chunk.toString()));
    await until(() => refused.length === 10);
    for (const answer of refused) {
      expect(answer).toMatch(/^HTTP\/1.1 503 /);
      expect(answer).toMatch(/\r\nretry-after: \d+\r\n/i);
      expect(answer).toContain(`at most ${2 * MIB} bytes`);
    }
    // Small requests go on, large ones of others too, and its own as soon as the bodies before them
    // have left.
    expect((await embed(service, "small")).status).toBe(200);
    expect((await embed(service, text)).status).toBe(503);
    expect((await embed(service, text, { authorization: "Bearer other" })).status).toBe(400);
    for (const socket of sockets) socket.destroy();
    const later = async (): Promise<number> => {
      const { status } = await embed(service, text);
      return status === 503 ? await later() : status;
    };
    expect(await later()).toBe(400);
  });

  test("that do not say their length are counted as they come", async () => {
    const service = await startSmall({ maxBodyBytes: MIB, maxUploadBytes: MIB });
    const held = await halfSent(service, MIB, MIB - 1000);
    const chunked = connect(service.port, "127.0.0.1");
    chunked.on("error", () => undefined);
    chunked.write("POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
    chunked.write(`transfer-encoding: chunked\r\n\r\n40000\r\n${" ".repeat(0x4_0000)}\r\n`);
    // That of which less had come when both together were too much.
    expect(await Promise.race([statusOf(chunked), statusOf(held)])).toMatch(/^HTTP\/1.1 503 /);
    chunked.destroy();
    held.destroy();
  });

  test("that stop half-way are dropped, so that they block no other", async () => {
    const service = await startSmall({ maxBodyBytes: MIB, maxUploadBytes: MIB, uploadStallMs: 100 });
    const stalled = await halfSent(service, MIB, 1000);
    expect(await statusOf(stalled)).toMatch(/^HTTP\/1.1 408 [\s\S]*Nothing came of the request's body for 100 ms/);
    expect((await embed(service, text)).status).toBe(400);
    stalled.destroy();
  });

  test("that come too slowly are given up, though they never stop", async () => {
    const service = await startSmall({ uploadStallMs: 800 });
    const slow = await halfSent(service, MIB, 1);
    const drip = setInterval(() => slow.write(" "), 50);
    expect(await statusOf(slow)).toMatch(/^HTTP\/1.1 408 [\s\S]*more slowly than 16000 bytes a second/);
    clearInterval(drip);
    slow.destroy();
  });
});

describe("a compressed body", () => {
  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("in %s gets 415, which names the encoding", async (encoding, compress) => {
    const service = await startSmall();
    const answer = await fetch(`${service.url}/v1/embeddings`, {
      method: "POST",
      headers: { "content-type": "application/json", "content-encoding": encoding },
      body: compress(JSON.stringify({ model: "batchwise-demo", input: "x" })),
    });
    expect(answer.status).toBe(415);
    const { error } = (await answer.json()) as Failure;
    expect(error.code).toBe("unsupported_content_encoding");
    expect(error.message).toContain(`got ${encoding}`);
    expect((await embed(service, "x", { "content-encoding": "identity" })).status).toBe(200);
  });
});

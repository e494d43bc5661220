// Callers who close or reset their connection at every moment of a request, as its only request or
// behind another.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, type MockInstance, onTestFinished, test, vi } from "vitest";
import type { AccessRecord } from "../../src/http/monitoring/access-log.ts";
import type { Service, ServiceOptions } from "../../src/http/service.ts";
import { embed, startSmall, until } from "../support/services.ts";

const WIDE = { layers: 1, hidden: 256, feedForward: 64, vocabulary: 1024, maxTokens: 64 };
const MANY: readonly string[] = Array.from({ length: 2_048 }, (_, index) => String(index));

interface Watched {
  readonly service: Service;
  readonly records: AccessRecord[];
  readonly failures: unknown[];
}

/** `paused`: texts wait until the test ends. */
async function watched({
  paused = false,
  ...options
}: Partial<ServiceOptions> & { paused?: boolean } = {}): Promise<Watched> {
  const records: AccessRecord[] = [];
  const failures: unknown[] = [];
  const service = await startSmall({
    onAccess: (record) => records.push(record),
    onFailure: (failure) => failures.push(failure),
    ...options,
  });
  if (paused) {
    service.embedder.batcher.pause();
    onTestFinished(() => service.embedder.batcher.resume());
  }
  return { service, records, failures };
}

function question(input: unknown, sent = Number.POSITIVE_INFINITY): string {
  const body = JSON.stringify({ model: "batchwise-demo", input });
  const head = `POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}`;
  return `${head}\r\ncontent-type: application/json\r\n\r\n${body.slice(0, sent)}`;
}

/** A connection on which the text was sent; nothing is read of it. */
async function ask(service: Service, text: string): Promise<Socket> {
  const socket = connect(service.port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  await new Promise((resolve) => socket.write(text, resolve));
  return socket;
}

const { submitted, idle } = {
  submitted: ({ embedder }: Service, least = 1) => until(() => embedder.batcher.stats().submitted >= least),
  idle: ({ embedder }: Service) =>
    until(() => embedder.batcher.stats().waiting + embedder.batcher.stats().running === 0),
};

const leave = {
  close: (socket: Socket) => void socket.destroy(),
  reset: (socket: Socket) => void socket.resetAndDestroy(),
};

describe.each(["close", "reset"] as const)("a caller that disconnects by %s", (way) => {
  let printed: MockInstance[];
  beforeEach(() => {
    printed = (["log", "info", "warn", "error"] as const).map((name) => vi.spyOn(console, name));
  });
  afterEach(() => vi.restoreAllMocks());

  async function expectQuiet({ service, records, failures }: Watched, requests: number): Promise<void> {
    await until(() => records.length >= requests);
    expect(records.map(({ status }) => status)).toEqual(Array(requests).fill(499));
    expect(failures).toEqual([]);
    expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([]);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toContain(`http_response_status_code="499",http_route="/v1/embeddings"} ${requests}\n`);
  }

  test.each([
    ["in the middle of its body", question("a", 10)],
    ["in the middle of a large body", question(MANY, 5_000)],
    ["in the middle of a body behind another request", question("first") + question("second", 10)],
  ])("%s is logged as 499, without a trace", async (_, text) => {
    const all = await watched({ paused: true });
    const socket = await ask(all.service, text);
    const requests = text.split("POST").length - 1;
    if (requests > 1) await submitted(all.service);
    // The head is read once this is answered.
    await fetch(`${all.service.url}/metrics`);
    all.records.length = 0;
    leave[way](socket);
    await expectQuiet(all, requests);
  });

  test("while its texts wait is logged as 499, and its texts are cancelled", async () => {
    const all = await watched({ paused: true });
    const socket = await ask(all.service, question(["a", "b"]));
    await submitted(all.service);
    leave[way](socket);
    await expectQuiet(all, 1);
    expect(all.service.embedder.batcher.stats()).toMatchObject({ waiting: 0, completed: 0 });
  });

  test("while requests behind another wait is logged as 499 for each, and all texts are cancelled", async () => {
    const all = await watched({ paused: true });
    const socket = await ask(all.service, question(["a", "b"]).repeat(5));
    await submitted(all.service, 10);
    leave[way](socket);
    await expectQuiet(all, 5);
    expect(all.service.embedder.batcher.stats()).toMatchObject({ waiting: 0, completed: 0 });
  });

  test("with large answers unread is logged as 499 for each, and their room is given back", async () => {
    const all = await watched({ encoder: WIDE, maxAnswerBytes: 1 });
    // Each is admitted while there are no answers yet.
    const socket = await ask(all.service, question(MANY).repeat(3));
    await submitted(all.service, 3 * MANY.length);
    await idle(all.service);
    const ready = async (): Promise<number> => (await fetch(`${all.service.url}/readyz`)).status;
    expect([await ready(), (await embed(all.service, "x")).status]).toEqual([503, 503]);
    all.records.length = 0;
    leave[way](socket);
    await until(() => all.records.length >= 3);
    expect(await ready()).toBe(200);
    all.records.splice(3);
    await expectQuiet(all, 3);
    expect((await embed(all.service, "x")).status).toBe(200);
  });
});

test("a failure of the service's own reaches the log, though its caller has left", async () => {
  const { service, records, failures } = await watched();
  const { batcher } = service.embedder;
  const bug = new Error("A bug.");
  let fail = (_: Error): void => undefined;
  const submitted = vi.spyOn(batcher, "submit").mockReturnValue(
    new Promise((_, reject) => {
      fail = reject;
    }),
  );
  const socket = await ask(service, question("a"));
  await until(() => submitted.mock.calls.length > 0);
  socket.destroy();
  await until(() => submitted.mock.calls[0]?.[1]?.signal?.aborted === true);
  fail(bug);
  await until(() => records.length > 0);
  expect(records).toMatchObject([{ status: 499 }]);
  await until(() => failures.length > 0);
  expect(failures).toEqual([bug]);
});

describe("an answer that was sent whole", () => {
  test.each(["keep-alive", "close"])("is logged with its own status, with connection: %s", async (connection) => {
    const { service, records } = await watched();
    const answer = await embed(service, MANY, { connection });
    await answer.text();
    await until(() => records.length > 0);
    expect(records).toMatchObject([{ status: 200, texts: MANY.length }]);
  });
});

test("a caller that closes its own side after the body is answered with 400, in words, and its texts are cancelled", async () => {
  const { service } = await watched({ paused: true });
  const socket = connect({ port: service.port, host: "127.0.0.1", allowHalfOpen: true });
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    answer += text;
  });
  socket.write(question("a"));
  await submitted(service);
  socket.end();
  await once(socket, "close");
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*"code":"connection_half_closed"/s);
  expect(answer).toContain("keep it open until the answer has come");
  await until(() => service.embedder.batcher.stats().cancelled === 1);
});

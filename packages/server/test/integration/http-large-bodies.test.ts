import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { parseEmbeddingsRequest } from "../../src/http/embeddings/embeddings-request.ts";
import { jsonObjectIn } from "../../src/http/requests/body.ts";
import type { Service } from "../../src/http/service.ts";
import { exportFolder, tableGraph } from "../support/exports.ts";
import { embed, type Failure, startSmall } from "../support/services.ts";
import { marked } from "../support/small-encoder.ts";
import { maxDifference } from "../support/vectors.ts";
import { markedPieces } from "../support/word-piece.ts";

interface Answer {
  readonly data: readonly { readonly embedding: readonly number[] }[];
}

/** Nearly the largest body that is taken: token ids, far more than the model takes. */
const MANY_IDS = JSON.stringify({
  model: "batchwise-demo",
  input: marked(Array.from({ length: 3_900_000 }, (_, i) => i % 10)),
});

/** Posts from a thread of its own, and gives the status. */
function postElsewhere(url: string, body: string): Promise<number> {
  const code = `
    const { parentPort, workerData: { url, body } } = require("node:worker_threads");
    const headers = { "content-type": "application/json" };
    fetch(url, { method: "POST", headers, body }).then(({ status }) => parentPort.postMessage(status));`;
  const worker = new Worker(code, { eval: true, workerData: { url: `${url}/v1/embeddings`, body } });
  return new Promise((resolve, reject) => {
    worker.on("message", resolve);
    worker.on("error", reject);
  });
}

/** CPU time of this thread in milliseconds, independent of other processes. */
function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * The longest that this thread computes in one pass of the event loop, until the body is answered.
 */
async function longestStop(service: Service, body: string, status: number): Promise<number> {
  let longest = 0;
  let before = computedMs();
  const look = (): void => {
    const now = computedMs();
    longest = Math.max(longest, now - before);
    before = now;
    next = setImmediate(look);
  };
  let next = setImmediate(look);
  expect(await postElsewhere(service.url, body)).toBe(status);
  clearImmediate(next);
  return longest;
}

/** How long the same body takes when it is read on this thread. */
function timeHere({ embedder }: Service, body: string): number {
  const bytes = new TextEncoder().encode(body);
  const before = computedMs();
  parseEmbeddingsRequest(jsonObjectIn(bytes), embedder.model);
  return computedMs() - before;
}

async function embeddings(service: Service, input: unknown): Promise<Answer["data"]> {
  const response = await embed(service, input);
  expect(response.status).toBe(200);
  return ((await response.json()) as Answer).data;
}

/** The longest stop for a body, as a part of the time that it takes to read here. */
async function stopBy(service: Service, body: string, status: number): Promise<number> {
  const stops: number[] = [];
  const control: number[] = [];
  // The smallest of several: compiling and garbage collection make a run longer.
  for (let round = 0; round < 5; round += 1) {
    stops.push(await longestStop(service, body, status));
    control.push(timeHere(service, body));
  }
  return Math.min(...stops) / Math.min(...control);
}

describe("a body of 8 MB", () => {
  test("does not stop the event loop for as long as it takes to read", async () => {
    expect(await stopBy(await startSmall(), MANY_IDS, 400)).toBeLessThan(0.6);
  });
});

describe("a body of 2,048 lists of 512 token ids", () => {
  test("stops the event loop for a part of the time that it takes to read", async () => {
    const model = await exportFolder(tableGraph(), { "config.json": { max_position_embeddings: 512 } });
    const service = await startSmall({ model, pooling: "mean" });
    const lists = Array.from({ length: 2_048 }, (_, row) =>
      markedPieces(Array.from({ length: 510 }, (_, place) => 4 + ((row + place) % 9))),
    );
    const body = JSON.stringify({ model: "export", input: lists });
    expect(await stopBy(service, body, 200)).toBeLessThan(0.6);
  });
});

describe("a large body", () => {
  const filler = Array.from({ length: 1500 }, (_, index) => `${"grey rain ".repeat(12)}${index}`);

  test("gets the vectors that its texts and tokens have in small ones", async () => {
    const service = await startSmall();
    const large = await embeddings(service, [...filler, "piano", marked([5, 6, 7])]);
    const [piano, tokens] = await embeddings(service, ["piano", marked([5, 6, 7])]);
    expect(maxDifference(large.at(-2)?.embedding ?? [], piano?.embedding ?? [])).toBeLessThan(1e-4);
    expect(maxDifference(large.at(-1)?.embedding ?? [], tokens?.embedding ?? [])).toBeLessThan(1e-4);
  });

  test("is refused as a small one is", async () => {
    const service = await startSmall();
    const refusal = async (input: unknown): Promise<unknown> => {
      const response = await embed(service, input);
      const { error } = (await response.json()) as Failure;
      return { status: response.status, retry: response.headers.get("x-should-retry"), ...error };
    };
    expect(await refusal([...filler, [1, -1]])).toEqual({
      status: 400,
      retry: "false",
      type: "invalid_request_error",
      param: "input",
      code: "invalid_token",
      message: expect.stringContaining("input[1500]"),
    });
    expect(await refusal([...filler, 7])).toMatchObject({ status: 400, code: "invalid_type" });
    expect(await refusal([...filler, marked(Array(63).fill(5))])).toMatchObject({ code: "context_length_exceeded" });
    const body = `{"model": "batchwise-demo", "input": "${"a".repeat(200_000)}`;
    const headers = { "content-type": "application/json" };
    const broken = await fetch(`${service.url}/v1/embeddings`, { method: "POST", headers, body });
    expect(await broken.json()).toMatchObject({ error: { code: "invalid_json" } });
  });
});

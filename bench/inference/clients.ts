/**
 * The clients of the inference benchmark, in a process of their own. Each keeps one connection
 * open, and requests the vector of its next text as soon as the last one is answered.
 *
 *   node bench/inference/clients.ts PORT CLIENTS MIX WARM_UP_MS DURATION_MS SEED
 *
 * Prints the figures as a line of JSON when every request is answered. A response that is not a 200
 * with one vector of finite numbers ends the process with an error. Can also measure another
 * service with the same interface.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { quantile } from "../harness/numbers.ts";
import { readResponse } from "../load/http-response.ts";
import { textsOf } from "./mixes.ts";

/** Length in ms of the slices in which answered words are counted. */
const SLICE_MS = 250;

const [port, clients, mix = "mixed", warmUpMs, durationMs, seed] = process.argv.slice(2);
const started = performance.now();
const from = started + Number(warmUpMs);
const until = from + Number(durationMs);
const texts = textsOf(mix, Number(seed));
const latencies: number[] = [];
const slices = new Array<number>(Math.ceil((until - started) / SLICE_MS)).fill(0);

interface Answer {
  readonly data: readonly { readonly embedding: string }[];
}

function ask(socket: Socket, text: string): void {
  const body = Buffer.from(JSON.stringify({ model: "batchwise-bench", input: text, encoding_format: "base64" }));
  const head = "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body.toString("latin1")}`, "latin1");
}

function expectVector({ status, body }: { status: number; body: string }): void {
  const vector = status === 200 ? (JSON.parse(body) as Answer).data[0]?.embedding : undefined;
  const first = vector === undefined ? Number.NaN : Buffer.from(vector.slice(0, 8), "base64").readFloatLE(0);
  if (!Number.isFinite(first)) throw new Error(`Expected a vector, got ${status} ${body.slice(0, 500)}`);
}

/** Counts an answer that came before the end. */
function count(text: string, sentAt: number, now: number): void {
  const slice = Math.floor((now - started) / SLICE_MS);
  slices[slice] = (slices[slice] ?? 0) + text.split(" ").length;
  if (now >= from) latencies.push(now - sentAt);
}

async function runClient(): Promise<void> {
  const socket = connect(Number(port), "127.0.0.1").setNoDelay(true).setEncoding("latin1");
  await once(socket, "connect");
  await new Promise<void>((resolve, reject) => {
    let received = "";
    let sentAt = 0;
    let text = "";
    const next = (): void => {
      sentAt = performance.now();
      text = texts.next().value;
      ask(socket, text);
    };
    socket.on("data", (chunk: string) => {
      received += chunk;
      const response = readResponse(received);
      if (response === null) return;
      received = "";
      expectVector(response);
      const now = performance.now();
      if (now <= until) count(text, sentAt, now);
      if (now < until) next();
      else resolve();
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("The server closed a connection")));
    next();
  });
  socket.removeAllListeners("close").end();
}

await Promise.all(Array.from({ length: Number(clients) }, runClient));
const figures = {
  perSecond: (latencies.length * 1_000) / Number(durationMs),
  p50Ms: quantile(latencies, 0.5),
  p99Ms: quantile(latencies, 0.99),
  wordsPerSlice: slices.map((words) => words * (1_000 / SLICE_MS)),
};
process.stdout.write(`${JSON.stringify(figures)}\n`);

/**
 * The clients of sqlite-http.ts, in a process of their own: each has one connection, keeps it open,
 * and posts its next row as soon as the last one is answered.
 *
 *   node bench/load/http-clients.ts PORT CLIENTS WARM_UP_MS DURATION_MS
 *
 * Prints `measuring` after the warm-up, and the figures as a line of JSON when every request is
 * answered. A response that is not a 200, or carries another client's row, ends the process with an
 * error. It uses sockets without node:http, which needs more time for a request than the server.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { quantile } from "../harness/numbers.ts";
import { readResponse } from "./http-response.ts";
import { MEASURING, type Row, type SavedRow } from "./rows.ts";

const [port = 0, clients = 0, warmUpMs = 0, durationMs = 0] = process.argv.slice(2).map(Number);
const text = "a row of the benchmark ".repeat(8);
const from = performance.now() + warmUpMs;
const until = from + durationMs;
const latencies: number[] = [];
let sent = 0;
let answered = 0;

function post(socket: Socket, row: Row): void {
  const body = JSON.stringify(row);
  socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}

/**
 * Counts answers during the measurement, and records the latency of each that was also sent during
 * it.
 */
function record(sentAt: number, now: number): void {
  if (now < from || now > until) return;
  answered += 1;
  if (sentAt >= from) latencies.push(now - sentAt);
}

function expectRow({ status, body }: { status: number; body: string }, value: number): void {
  const saved = status === 200 ? (JSON.parse(body) as SavedRow) : undefined;
  if (saved?.value !== value) throw new Error(`Expected the row ${value}, got ${status} ${body}`);
}

async function runClient(): Promise<void> {
  const socket = connect(port, "127.0.0.1").setNoDelay(true).setEncoding("utf8");
  await once(socket, "connect");
  await new Promise<void>((resolve, reject) => {
    let received = "";
    let value = 0;
    let sentAt = 0;
    const next = (): void => {
      value = sent;
      sent += 1;
      sentAt = performance.now();
      post(socket, { value, text });
    };
    socket.on("data", (chunk: string) => {
      received += chunk;
      const response = readResponse(received);
      if (response === null) return;
      received = "";
      expectRow(response, value);
      const now = performance.now();
      record(sentAt, now);
      if (now < until) next();
      else resolve();
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("The server closed a connection")));
    next();
  });
  socket.removeAllListeners("close").end();
}

setTimeout(() => process.stdout.write(`${MEASURING}\n`), warmUpMs);
await Promise.all(Array.from({ length: clients }, runClient));
const perSecond = (answered * 1_000) / durationMs;
const figures = { perSecond, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99), sent };
process.stdout.write(`${JSON.stringify(figures)}\n`);

// Load as of autocannon with pipelining, whose callers hang up at any moment, on every supported
// release of Node.js.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { runtimes } from "../../../compat/runtimes/runtimes.ts";
import { built, root } from "../../batchwise/test/house/repository.ts";
import { commandOf } from "../test/support/command.ts";
import { temporaryFolder } from "../test/support/folders.ts";

interface Served {
  readonly port: number;
  output(): string;
}

/** The built command with default options. */
async function serve(node: string): Promise<Served> {
  built("index.js");
  const flags = ["serve", "--port", "0", "--model-dir", await temporaryFolder()];
  const program = `${root}packages/server/bin/batchwise.js`;
  const command = commandOf(spawn(node, [program, ...flags], { stdio: ["ignore", "pipe", "pipe"] }));
  const [, port] = await command.prints(/ at http:\/\/127\.0\.0\.1:(\d+)[\s\S]*Ctrl-C/);
  return { port: Number(port), output: command.output };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20);
}

function question(texts: number): string {
  const body = JSON.stringify({ model: "batchwise-demo", input: Array.from({ length: texts }, (_, i) => `t${i}`) });
  const head = "POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
  return `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

/** Keeps five requests on the way, reads the answers, and hangs up after so many milliseconds. */
async function pipeline(port: number, text: string, ms: number): Promise<number> {
  const socket = await connected(port);
  let answered = 0;
  socket.on("data", (chunk) => {
    const answers = chunk.toString("latin1").split("HTTP/1.1 200").length - 1;
    answered += answers;
    if (answers > 0) socket.write(text.repeat(answers));
  });
  socket.write(text.repeat(5));
  await sleep(ms);
  if (ms % 2 === 0) socket.resetAndDestroy();
  else socket.destroy();
  return answered;
}

interface Stats {
  readonly waiting: number;
  readonly running: number;
  readonly submitted: number;
  readonly completed: number;
  readonly cancelled: number;
}

async function statsOf(port: number): Promise<Stats> {
  const answer = await fetch(`http://127.0.0.1:${port}/stats`, { headers: { accept: "application/json" } });
  return ((await answer.json()) as { readonly stats: Stats }).stats;
}

async function expectServing({ port, output }: Served): Promise<void> {
  await until(async () => {
    const { waiting, running } = await statsOf(port);
    return waiting + running === 0;
  });
  const socket = await connected(port);
  socket.write(question(1));
  expect(String(await once(socket, "data"))).toMatch(/^HTTP\/1.1 200 /);
  socket.destroy();
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toMatch(/response_status_code="499"/);
  expect(metrics).not.toMatch(/response_status_code="5/);
  expect(output()).not.toMatch(/Error|^ +at /m);
}

describe.each(runtimes())("Node.js %s", (_, node) => {
  test("100 callers that pipeline five large requests and reset do not stop the service", async () => {
    const served = await serve(node);
    const large = question(2_048).repeat(5);
    for (let caller = 0; caller < 100; caller += 1) {
      const socket = await connected(served.port);
      socket.pause();
      socket.write(large);
      await sleep(60);
      socket.resetAndDestroy();
    }
    await expectServing(served);
    const { submitted, completed, cancelled } = await statsOf(served.port);
    console.log(`${submitted} texts submitted, ${cancelled} cancelled, ${completed} completed`);
    expect(completed).toBeLessThan(0.25 * submitted);
  });

  test("10 seconds of 20 connections with five small requests each, which hang up after 0 to 2 s", async () => {
    const served = await serve(node);
    const end = performance.now() + 10_000;
    let answered = 0;
    let callers = 0;
    const caller = async (index: number): Promise<void> => {
      for (let round = index; performance.now() < end; round += 7) {
        answered += await pipeline(served.port, question(1), (round * 137) % 2_000);
        callers += 1;
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, index) => caller(index)));
    await expectServing(served);
    console.log(`${callers} callers hung up, ${answered} requests were answered`);
    expect(answered).toBeGreaterThan(0);
  });
});

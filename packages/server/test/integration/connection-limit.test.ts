// More connections than the process can have open.

import { once } from "node:events";
import { type AddressInfo, connect, Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startCommandIn } from "../support/command.ts";
import { temporaryFolder } from "../support/folders.ts";
import { startSmall } from "../support/services.ts";

interface Opened {
  readonly sockets: readonly Socket[];
  readonly closed: () => number;
}

/** Opens connections and sends nothing on them. */
async function open(port: number, count: number): Promise<Opened> {
  let closed = 0;
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1"));
  for (const socket of sockets) {
    socket
      .on("error", () => {})
      .on("close", () => {
        closed += 1;
      });
  }
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect").catch(() => {})));
  return { sockets, closed: () => closed };
}

async function droppedAt(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(text.match(/^batchwise_server_connections_dropped_total (\d+)$/m)?.[1]);
}

test("connections beyond maxConnections are closed at once, counted, and reported once", async () => {
  const warnings: string[] = [];
  const service = await startSmall({ maxConnections: 5, onWarning: (message) => warnings.push(message) });
  const { sockets, closed } = await open(service.port, 12);
  await expect.poll(closed).toBe(7);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => droppedAt(service.url).catch(() => -1)).toBeGreaterThanOrEqual(7);
  expect(warnings).toEqual([expect.stringMatching(/^A connection was closed because 5 are open; 1 since the start\./)]);
});

test("a service goes on where the system fails to accept a connection, and reports it once a minute", async () => {
  const warnings: string[] = [];
  const service = await startSmall({ onWarning: (message) => warnings.push(message) });
  const server = serverOn(service.port);
  // As Node.js does for an error of accept(2), such as ENOBUFS.
  for (let count = 0; count < 3; count += 1) server.emit("error", new Error("accept ENOBUFS"));
  expect(warnings).toEqual(["A connection could not be accepted: accept ENOBUFS."]);
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
});

function serverOn(port: number): Server {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): unknown[] };
  const found = handles().find((one) => one instanceof Server && (one.address() as AddressInfo | null)?.port === port);
  return found as Server;
}

test("a process with few descriptors serves those that it can, and says why it closes the others", async () => {
  const folder = await temporaryFolder();
  const args = ["serve", "--model-dir", folder, "--port", "0", "--workers", "1"];
  const command = startCommandIn({ openFiles: 80 }, ...args);
  const [, url = ""] = await command.prints(/ at (http:\S+)/);
  const { sockets, closed } = await open(Number(new URL(url).port), 300);
  await command.prints(/Warning: A connection was closed because \d+ are open/);
  await expect.poll(closed).toBeGreaterThan(200);
  expect(closed()).toBeLessThan(300);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => droppedAt(url).catch(() => -1)).toBeGreaterThan(200);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  command.process.kill("SIGTERM");
  expect(await command.ended).toBe(0);
});

test("more than the limit on open files allows is taken, with a warning", async () => {
  const folder = await temporaryFolder();
  const asked = ["--max-connections", "5000"];
  const command = startCommandIn({ openFiles: 100 }, "serve", "--model-dir", folder, "--port", "0", ...asked);
  await command.prints(
    /Warning: 5000 connections may be open, but the process's limit on open files leaves room for \d+/,
  );
});

test.each([
  ["an empty HOME", "", "HOME is empty"],
  ["a HOME that holds no folders", "/dev/null", "ENOTDIR"],
])("with %s the built-in model's folder needs its flag", async (_, HOME, reason) => {
  const command = startCommandIn({ env: { HOME } }, "serve", "--port", "0");
  expect(await command.ended).toBe(1);
  expect(command.output()).toContain(reason);
  expect(command.output()).toContain("--model-dir");
});

// A Redis server for one test file: on a free port of loopback, with an append-only file in a folder of its own, flushed
// before every answer; gone afterwards. Finds the program or installs it; throws where it can do neither.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { findProgram, freePort, install, type Service, startProgram, stopProgram } from "./processes.ts";

export interface RedisService extends Service {
  /** Ends the server without a word, and starts it again on what its file holds. */
  killAndRestart(): Promise<void>;
}

function program(): string {
  const found = findProgram("redis-server");
  if (found !== undefined) return found;
  install(["redis-server"], "a Redis server");
  const installed = findProgram("redis-server");
  if (installed === undefined) throw new Error("The Redis server was installed but is not to be found.");
  return installed;
}

export async function startRedis(): Promise<RedisService> {
  const server = program();
  const folder = mkdtempSync(join(tmpdir(), "batchwise-redis-"));
  const port = await freePort();
  const command = [server, "--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const start = () =>
    startProgram([...command, "--appendonly", "yes", "--appendfsync", "always"], folder, () => answers(port));
  let child = await start();
  return {
    port,
    killAndRestart: async () => {
      await stopProgram(child, "SIGKILL");
      child = await start();
    },
    stop: async () => {
      await stopProgram(child, "SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answers(port: number): Promise<boolean> {
  const client = new Redis({ host: "127.0.0.1", port, lazyConnect: true, retryStrategy: () => null });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.ping()) === "PONG";
  } finally {
    client.disconnect();
  }
}

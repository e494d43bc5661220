// A Redis server on a free port of loopback, with an append-only file in its own folder, which is
// removed afterwards. Finds the program or installs it; throws if it can do neither.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort, type Service, startProgram, stopProgram } from "./processes.ts";
import { folderOf } from "./programs.ts";
import { mountSmallDisk } from "./small-disk.ts";

export interface RedisOptions {
  /** When the file is flushed. Default: before every answer. */
  readonly appendfsync?: "always" | "everysec";
  /** Puts the file on a disk of this many megabytes. */
  readonly diskMb?: number;
  /** Makes it a node of a cluster, without other nodes and keys. */
  readonly isNode?: boolean;
}

/** A part of a shared server for one store. */
export interface RedisPlace {
  readonly port: number;
  readonly prefix: string;
}

export interface RedisService extends Service {
  /** The folder of its file, on its small disk if it has one. */
  readonly folder: string;
  /** A prefix of keys that no other test uses. */
  place(): Promise<RedisPlace>;
  /** Kills the server, and starts it again with its file. */
  killAndRestart(): Promise<void>;
}

export async function startRedis(options: RedisOptions = {}): Promise<RedisService> {
  const { appendfsync = "always", diskMb, isNode = false } = options;
  const wanted = { programs: ["redis-server"], packages: ["redis-server"], what: "a Redis server" };
  const server = join(folderOf(wanted), "redis-server");
  const folder = mkdtempSync(join(tmpdir(), "batchwise-redis-"));
  const disk = diskMb === undefined ? null : await mountSmallDisk(folder, diskMb, userInfo().uid);
  const port = await freePort();
  const command = [...(disk?.enter ?? []), server, "--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  const settings = ["--save", "", "--appendonly", "yes", "--appendfsync", appendfsync];
  if (isNode) settings.push("--cluster-enabled", "yes", "--cluster-port", String(await freePort()));
  const start = () => startProgram([...command, ...settings], folder, () => answers(port));
  let child = await start();
  let made = 0;
  return {
    port,
    folder: disk?.path ?? folder,
    place: async () => {
      made += 1;
      return { port, prefix: `test-${made}` };
    },
    killAndRestart: async () => {
      await stopProgram(child, "SIGKILL");
      child = await start();
    },
    stop: async () => {
      await stopProgram(child, "SIGTERM");
      await disk?.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A client whose connection may be cut without ending the process. */
export function clientAt(port: number, maxRetriesPerRequest = 20): Redis {
  const client = new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest });
  client.on("error", () => {});
  return client;
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

// The keeper of the servers as a test run has it: a process that lives as long as its input.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { expect, test } from "vitest";
import type { Ask, OwnServer } from "./keeper.ts";
import type { RedisPlace } from "./redis.ts";

async function startKeeper(): Promise<{
  readonly keeper: ChildProcess;
  readonly ask: (what: Ask) => Promise<unknown>;
}> {
  const script = new URL("keeper.ts", import.meta.url).pathname;
  const keeper = spawn(process.execPath, ["--no-warnings", script], { stdio: ["pipe", "pipe", "inherit"] });
  const [port] = await once(keeper.stdout, "data");
  const ask = async (what: Ask): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${Number(port)}/`, { method: "POST", body: JSON.stringify(what) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  };
  return { keeper, ask };
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const opened = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return opened;
}

test("servers are shared by all tests, except one of one's own, and end with the keeper's input", async () => {
  const { keeper, ask } = await startKeeper();
  const [first, second] = (await Promise.all([
    ask({ call: "redisPlace" }),
    ask({ call: "redisPlace" }),
  ])) as RedisPlace[];
  const own = (await ask({ call: "startOwnRedis", options: {} })) as OwnServer;
  expect(first?.port).toBe(second?.port);
  expect(first?.prefix).not.toBe(second?.prefix);
  expect(own.port).not.toBe(first?.port);
  expect([await isOpen(own.port), await isOpen(first?.port ?? 0), existsSync(own.folder)]).toEqual([true, true, true]);

  const ended = once(keeper, "exit");
  keeper.stdin?.end();
  expect(await ended).toEqual([0, null]);
  expect([await isOpen(own.port), await isOpen(first?.port ?? 0), existsSync(own.folder)]).toEqual([
    false,
    false,
    false,
  ]);
});

test("a server that is still starting when the run ends is ended too", async () => {
  const { keeper, ask } = await startKeeper();
  const answer = ask({ call: "redisPlace" }).catch(() => null);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const ended = once(keeper, "exit");
  keeper.stdin?.end();
  expect(await ended).toEqual([0, null]);
  const place = (await answer) as RedisPlace | null;
  expect(place === null || !(await isOpen(place.port))).toBe(true);
});

test("an impossible request is answered in words", async () => {
  const { keeper, ask } = await startKeeper();
  await expect(ask({ call: "stop", id: 7 })).rejects.toThrow("There is no server 7.");
  const ended = once(keeper, "exit");
  keeper.stdin?.end();
  await ended;
});

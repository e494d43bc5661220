// Cloudflare Workers, on their own runtime: it gives each request its own I/O, and cancels a
// request that waits for what another one's timers or sockets have to bring.

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { build } from "esbuild";
import { describe, expect, onTestFinished, test } from "vitest";
import { Project, programOf } from "../../../packages/batchwise/test/tools/project.ts";

const worker = `
  import { batch, createBatcher } from "batchwise";

  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const slow = (sizes) => async (items) => { sizes.push(items.length); await sleep(20); return items.map((item) => item * 2); };

  const atModuleScope = batch(slow([]));

  export class Room {
    sizes = [];
    double = batch(slow(this.sizes), { maxWaitMs: 100 });
    async fetch(request) { return Response.json({ result: await this.double(itemOf(request)), sizes: this.sizes }); }
  }

  async function ownBatcher(item, options) {
    const sizes = [];
    const batcher = createBatcher(options.sync ? (items) => { sizes.push(items.length); return items; } : slow(sizes), options.batcher);
    const results = [];
    for (const round of [0, 1]) results.push(...(await batcher.submitMany([item, item + 1, item + 2])));
    await batcher.close();
    return { results, sizes };
  }

  const itemOf = (request) => Number(new URL(request.url).searchParams.get("item"));

  export default {
    async fetch(request, env) {
      const item = itemOf(request);
      switch (new URL(request.url).pathname) {
        case "/request": return Response.json(await ownBatcher(item, { batcher: {} }));
        case "/wait": return Response.json(await ownBatcher(item, { batcher: { maxWaitMs: 5, timeoutMs: 1_000 } }));
        case "/tick": return Response.json(await ownBatcher(item, { sync: true, batcher: { gather: "tick" } }));
        case "/module": return Response.json(await atModuleScope(item));
        default: return env.ROOMS.get(env.ROOMS.idFromName("one")).fetch(request);
      }
    },
  };
`;

const config = (flags: string): string => `
  using Workerd = import "/workerd/workerd.capnp";
  const config :Workerd.Config = (
    services = [(name = "main", worker = .worker)],
    sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
  );
  const worker :Workerd.Worker = (
    modules = [(name = "worker", esModule = embed "worker.js")],
    compatibilityDate = "2026-06-01",
    compatibilityFlags = [${flags}],
    durableObjectNamespaces = [(className = "Room", uniqueKey = "rooms")],
    durableObjectStorage = (inMemory = void),
    bindings = [(name = "ROOMS", durableObjectNamespace = "Room")],
  );
`;

type Ask = (path: string, item: number) => Promise<Response>;

/** Runs the Worker until the test has ended. */
async function start(flags = ""): Promise<Ask> {
  const { folder } = new Project("cloudflare", { "main.js": worker, "config.capnp": config(flags) });
  const outfile = `${folder}worker.js`;
  await build({ entryPoints: [`${folder}main.js`], outfile, bundle: true, format: "esm", logLevel: "silent" });
  const args = ["serve", "--control-fd=3", `${folder}config.capnp`];
  const program = spawn(programOf("@cloudflare/workerd-*/bin/workerd"), args, {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const ended = once(program, "exit").then(([code]) => Promise.reject(new Error(`workerd ended with ${code}`)));
  ended.catch(() => {});
  onTestFinished(async () => {
    program.kill();
    if (program.exitCode === null && program.signalCode === null) await once(program, "exit");
  });
  const [told] = (await Promise.race([once(program.stdio[3] as Readable, "data"), ended])) as [Buffer];
  const { port } = JSON.parse(told.toString()) as { port: number };
  return (path, item) => fetch(`http://127.0.0.1:${port}/${path}?item=${item}`);
}

const items = Array.from({ length: 12 }, (_, item) => item);

describe("in a Cloudflare Worker", () => {
  test.each([
    ["without flags", ""],
    ["with nodejs_compat", '"nodejs_compat"'],
  ])("batchers of single requests work side by side, %s", async (_, flags) => {
    const ask = await start(flags);
    for (const path of ["request", "wait", "tick"]) {
      const answers = await Promise.all(items.map(async (item) => (await ask(path, item)).json()));
      const scale = path === "tick" ? 1 : 2;
      const results = (item: number): number[] => [0, 1, 2, 0, 1, 2].map((more) => (item + more) * scale);
      expect(answers).toEqual(items.map((item) => ({ results: results(item), sizes: [3, 3] })));
    }
  });

  test("a batcher of a Durable Object merges the items of many requests", async () => {
    const ask = await start();
    const answers = await Promise.all(
      items.map(async (item) => (await ask("room", item)).json() as Promise<{ result: number; sizes: number[] }>),
    );
    expect(answers.map(({ result }) => result)).toEqual(items.map((item) => item * 2));
    expect(Math.max(...answers.flatMap(({ sizes }) => sizes))).toBeGreaterThan(1);
  });

  test("requests that share a batcher at module scope are cancelled by the runtime", async () => {
    const ask = await start();
    expect((await ask("module", 1)).status).toBe(200);
    const answers = await Promise.all(items.map((item) => ask("module", item)));
    expect(answers.map(({ status }) => status)).toContain(500);
  });
});

// Four dispatchers and eight producers, each a process of its own, on one Postgres database and one provider; once left
// alone, once while connections are cut at random.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fakeProvider } from "batchwise/dispatch/testing";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { startOwnPostgres } from "../services/kept.ts";
import type { PostgresPlace } from "../services/postgres.ts";
import type { FleetWork } from "./fleet-child.ts";
import { openStore, type Place } from "./open-store.ts";

const DISPATCHERS = 4;
const PRODUCERS = 8;

async function run(work: FleetWork): Promise<void> {
  const script = new URL("fleet-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(work)], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  // Where one of them fails, the others would wait for ever.
  onTestFinished(() => void child.kill("SIGKILL"));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${work.role} ${work.name} ended with ${code}`);
}

/** All of them at once; resolves when every request has its outcome. */
async function runFleet(place: Place, url: string, requests: number): Promise<void> {
  const names = (count: number, role: string) => Array.from({ length: count }, (_, n) => `${role}${n}`);
  await Promise.all([
    ...names(DISPATCHERS, "d").map((name) => run({ role: "dispatcher", name, place, url, requests })),
    ...names(PRODUCERS, "p").map((name) => run({ role: "producer", name, place, url, requests: requests / PRODUCERS })),
  ]);
}

/** Cuts one connection of the place after another, until it is stopped; answers how many. */
function cutConnections(place: PostgresPlace): () => Promise<number> {
  const client = new pg.Client(place);
  let isOver = false;
  const cutting = (async () => {
    await client.connect();
    let cuts = 0;
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE pid <> pg_backend_pid() AND application_name = $1 ORDER BY random() LIMIT 1`,
        [place.application_name],
      );
      cuts += rowCount ?? 0;
    }
    await client.end();
    return cuts;
  })();
  return () => {
    isOver = true;
    return cutting;
  };
}

describe("four dispatchers and eight producers on one Postgres database", () => {
  test.each([
    ["left alone", 20_000, false],
    ["whose connections are cut", 4_000, true],
  ] as const)("%s: every request once, in one batch", async (_name, requests, isCut) => {
    const server = await startOwnPostgres();
    const config = await server.place();
    const place: Place = { kind: "postgres", config };
    const fake = fakeProvider({ plan: { validateMs: 50, runMs: 200, finalizeMs: 20 } });
    const http = await fake.listen();
    const stopCutting = isCut ? cutConnections(config) : async () => 0;
    const started = performance.now();
    await runFleet(place, http.url, requests);
    const seconds = (performance.now() - started) / 1_000;
    const cuts = await stopCutting();
    await http.close();
    console.log(
      `${requests} requests, ${cuts} cuts: ${Math.round(requests / seconds)} a second, all processes included`,
    );

    const { store, end } = await openStore(place);
    const outcomes = await store.outcomes({ after: 0, limit: 1_000_000 });
    const batches = await store.batches({ limit: 1_000_000 });
    await store.close();
    await end();
    await server.stop();
    const runs = [...fake.runs().values()];
    expect([outcomes.length, new Set(outcomes.map(({ id }) => id)).size]).toEqual([requests, requests]);
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["succeeded"]));
    expect([runs.length, Math.max(...runs)]).toEqual([requests, 1]);
    expect(batches.reduce((sum, batch) => sum + batch.requests, 0)).toBe(requests);
    expect(cuts > 0).toBe(isCut);
  });
});

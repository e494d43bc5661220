// Four dispatchers and eight producers, each a process of its own, on one Postgres database and one
// provider; once left alone, once while connections are cut at random.

import { rmSync } from "node:fs";
import { fakeProvider } from "batchwise/dispatch/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { bundledProgram } from "../../../../../../scripts/bundled-program.ts";
import { scratchFolder } from "../../../house/repository.ts";
import { startOwnPostgres } from "../../services/kept.ts";
import type { PostgresPlace } from "../../services/postgres.ts";
import { readFleetEnd, runFleet, tracesOfOnceEach } from "../processes/fleet-run.ts";
import type { Place } from "../stores/open-store.ts";

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

const bundle = scratchFolder("fleet-child");
let program: string;
beforeAll(async () => {
  program = await bundledProgram(new URL("../processes/fleet-child.ts", import.meta.url), bundle);
});
afterAll(() => rmSync(bundle, { recursive: true }));

describe("four dispatchers and eight producers on one Postgres database", () => {
  test.each([
    ["left alone", 1_200, false],
    ["whose connections are cut", 1_200, true],
  ] as const)("%s: every request once, in one batch", async (_name, requests, isCut) => {
    const server = await startOwnPostgres();
    const config = await server.place();
    const place: Place = { kind: "postgres", config };
    const fake = fakeProvider({ plan: { validateMs: 50, runMs: 200, finalizeMs: 20 } });
    const http = await fake.listen();
    const stopCutting = isCut ? cutConnections(config) : async () => 0;
    const over = new AbortController();
    onTestFinished(() => over.abort());
    const started = performance.now();
    await runFleet({ program, place, url: http.url, requests, textLength: 0 }, over.signal);
    const seconds = (performance.now() - started) / 1_000;
    const cuts = await stopCutting();
    await http.close();
    console.log(
      `${requests} requests, ${cuts} cuts: ${Math.round(requests / seconds)} a second, all processes included`,
    );

    const { traces } = await readFleetEnd(place, fake);
    await server.stop();
    expect(traces).toEqual(tracesOfOnceEach(requests));
    expect(cuts > 0).toBe(isCut);
  });
});

/**
 * Four dispatchers and eight producers, each in its own process, on one Postgres database and one
 * provider: the fleet of the tests, with requests and results of the sizes measured here. Throws
 * unless every request was in one batch, ran once and has one outcome. The provider is the strict
 * one of `batchwise/dispatch/testing`, in this process.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { fakeProvider } from "batchwise/dispatch/testing";
import {
  readFleetEnd,
  runFleet,
  tracesOfOnceEach,
} from "../../packages/batchwise/test/integration/dispatch/processes/fleet-run.ts";
import type { PostgresPlace } from "../../packages/batchwise/test/integration/services/postgres.ts";
import { bundledProgram } from "../../scripts/bundled-program.ts";
import type { Measurement } from "../harness/child.ts";
import { BODY_BYTES, completion } from "./work.ts";

const CHILD = new URL("../../packages/batchwise/test/integration/dispatch/processes/fleet-child.ts", import.meta.url);
/** Bytes of a body around its text. */
const FRAME_BYTES = 70;
const LONGEST_MS = 600_000;

/** Requests per second, from the first that was enqueued to the last outcome. */
export async function fleet(config: PostgresPlace, count: number): Promise<Measurement> {
  const place = { kind: "postgres", config } as const;
  const provider = fakeProvider({
    plan: { validateMs: 50, runMs: 200, finalizeMs: 20 },
    answer: () => ({ status: 200, body: completion }),
  });
  const http = await provider.listen();
  const folder = await mkdtemp(join(tmpdir(), "fleet-"));
  const program = await bundledProgram(CHILD, folder);
  const work = { program, place, url: http.url, requests: count, textLength: BODY_BYTES - FRAME_BYTES };
  await runFleet(work, AbortSignal.timeout(LONGEST_MS));
  await rm(folder, { recursive: true });
  await http.close();
  const { traces, spanMs } = await readFleetEnd(place, provider);
  if (!isDeepStrictEqual(traces, tracesOfOnceEach(count))) {
    throw new Error(`Not every request was in one batch, and ended once: ${JSON.stringify(traces)}`);
  }
  return { perSecond: count / (spanMs / 1_000) };
}

// Two processes on one store whose clocks differ by ten minutes.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { openStore, type Place } from "../stores/open-store.ts";
import type { ClockLine, ClockWork } from "./clock-child.ts";

const places: readonly (readonly [Place["kind"], () => Promise<Place>])[] = [
  ["postgres", async () => ({ kind: "postgres", config: await postgresPlace() })],
  ["redis", async () => ({ kind: "redis", ...(await redisPlace()) })],
];
const REQUESTS = 20;
const TEN_MINUTES = 600_000;

interface Started {
  readonly child: ChildProcess;
  readonly lines: ClockLine[];
}

function start(work: ClockWork, aheadMs: number): Started {
  const script = new URL("clock-child.ts", import.meta.url).pathname;
  const shift = `data:text/javascript,const real = Date.now; Date.now = () => real() + ${aheadMs};`;
  const child = spawn(process.execPath, ["--no-warnings", "--import", shift, script, JSON.stringify(work)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: ClockLine[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line) as ClockLine));
  return { child, lines };
}

test.each(places)("on %s take no lease from one another, run each request once, and say so", async (_, placeOf) => {
  const place = await placeOf();
  const right = start({ name: "right", place, requests: REQUESTS, runMs: 150 }, 0);
  const wrong = start({ name: "wrong", place, requests: REQUESTS, runMs: 150 }, TEN_MINUTES);
  const { store, end } = await openStore(place);
  await expect
    .poll(async () => (await store.probe(1, Date.now())).outcomes.succeeded, { timeout: 40_000 })
    .toBe(2 * REQUESTS);
  for (const { child } of [right, wrong]) child.stdin?.end();
  await Promise.all([right, wrong].map(({ child }) => once(child, "close")));
  await store.close();
  await end();
  const all = [...right.lines, ...wrong.lines];
  expect(all.filter((line) => "lost" in line)).toEqual([]);
  const ran = all.flatMap((line) => ("ran" in line ? [line.ran] : []));
  expect([ran.length, new Set(ran).size]).toEqual([2 * REQUESTS, 2 * REQUESTS]);
  expect(wrong.lines.filter((line) => "code" in line)).toEqual([{ code: "CLOCK_DIFFERS" }]);
  expect(right.lines.filter((line) => "code" in line)).toEqual([]);
});

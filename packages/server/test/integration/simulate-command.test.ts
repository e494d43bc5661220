import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCommand } from "../support/command.ts";
import { temporaryFolder } from "../support/folders.ts";
import { ended } from "../support/practice.ts";

function simulate(...args: readonly string[]): ReturnType<typeof ended> {
  return ended(startCommand("simulate", ...args));
}

test("simulate prints a table of the service that flags describe, and writes a page", async () => {
  const html = join(await temporaryFolder(), "out.html");
  const flags = ["--run-ms", "1:12,64:44", "--rate", "400", "--arrivals", "bursts", "--seconds", "1", "--loads", "1,2"];
  const { code, output } = await simulate(
    ...flags,
    "--compare",
    "target-latency-ms=100,max-batch-size=64",
    "--html",
    html,
  );
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("LOAD  OFFERED/S  IN TIME %") });
  expect(output).toContain("calls take 12 ms for 1, 44 ms for 64 items, give or take 10 %");
  expect(output).toContain("400 items a second in bursts");
  expect(output).toContain("Batcher: targetLatencyMs 100, maxBatchSize 64");
  expect(output).toContain("In time: within 100 ms");
  expect(await readFile(html, "utf8")).toContain("</html>");
});

test("flags replace the values of a file, and keep the rest of it", async () => {
  const path = join(await temporaryFolder(), "scenario.json");
  const service = { kind: "line", fixedMs: 5, itemMs: 2, noise: 0.3 };
  const arrivals = { kind: "bunches", perSecond: 50, size: 4 };
  await writeFile(path, JSON.stringify({ service, arrivals, durationMs: 1_000, loads: [1] }));
  const { code, stdout } = await simulate(path, "--item-ms", "3", "--rate", "90", "--max-batch-size", "9", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    scenario: {
      service: { ...service, itemMs: 3 },
      arrivals: { ...arrivals, perSecond: 90 },
      options: { maxBatchSize: 9 },
      loads: [1],
    },
    sweeps: [{ points: [{ load: 1, report: { targetMs: 200 } }] }],
  });
});

test("simulate names the fault of a flag, and exits with 2", async () => {
  const wrong: readonly (readonly [string, ...string[]])[] = [
    ["Did you mean --rate", "--rte", "5"],
    ["Expected a number > 0", "--rate", "-5"],
    ["Expected name=value", "--compare", "foo=1"],
    ["such as 1:12,8:15,64:60", "--run-ms", "1-2"],
    ["Expected --rate", "--arrivals", "bursts"],
    ["Expected --arrivals bunches", "--bunch-size", "20", "--rate", "5"],
    ["0.1 is 10 %", "--noise", "30"],
    ["Expected each size once", "--run-ms", "1:12,1:15"],
    ["Cannot read the scenario", "missing.json"],
  ];
  const all = wrong.map(async ([message, ...args]) => {
    const { code, output } = await simulate(...args);
    expect({ args, code, output }).toEqual({ args, code: 2, output: expect.stringContaining(message) });
  });
  await Promise.all(all);
});

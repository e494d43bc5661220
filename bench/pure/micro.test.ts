import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const micro = fileURLToPath(new URL("../micro.ts", import.meta.url));

function run(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ["--no-warnings", micro, ...args], { encoding: "utf8" });
}

test("bench:micro runs each function in as many processes as its flag says, and prints the median, fastest and slowest", () => {
  const { status, stdout, stderr } = run("decide", "--processes", "2", "--ms", "1");
  expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining("pure round 2 of 2") });
  const rows = stdout.trim().split("\n").slice(1);
  expect(rows.map((row) => row.replace(/ +[\d. ]+$/, ""))).toEqual([
    "decide: hold until the window ends",
    "decide: a full lane goes",
  ]);
  for (const row of rows) {
    const [middle = 0, fastest = 0, slowest = 0] = (row.match(/[\d.]+/g) ?? []).map(Number);
    expect(fastest).toBeGreaterThan(0);
    expect(middle).toBeGreaterThanOrEqual(fastest);
    expect(slowest).toBeGreaterThanOrEqual(middle);
  }
});

test("bench:micro lists the names, and the values of a flag", () => {
  expect(run("nothing").stderr).toContain("Expected a part of one of these names, got `nothing`: decide: hold");
  expect(run("--processes", "0").stderr).toContain("Expected `--processes` to be an integer >= 1, got `0`");
});

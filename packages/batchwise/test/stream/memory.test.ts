import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const child = fileURLToPath(new URL("./memory-child.ts", import.meta.url));

test("a hundred thousand rounds to a slow reader keep the heap flat and the producer as far ahead as it may be", () => {
  const { stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", child], { encoding: "utf8", timeout: 30_000 });
  expect(stderr).toBe("");
  const { produced, consumed, ahead, grownBytes } = JSON.parse(stdout) as Record<string, number>;
  expect([produced, consumed]).toEqual([100_000, 100_000]);
  // 16 kept, the one that holds the batch, and the one being read.
  expect(ahead).toBeLessThanOrEqual(18);
  expect(ahead).toBeGreaterThan(0);
  // All the rounds together are some 90 MB.
  expect(grownBytes).toBeLessThan(1_000_000);
});

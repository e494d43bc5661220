// A folder is read by its list of files: one with many needs folders of its own.

import { posix } from "node:path";
import { expect, test } from "vitest";
import { filesMatching } from "../repository.ts";

const MOST_FILES = 20;

test("no folder of the sources, or of these tests, has more than twenty files", () => {
  const files = filesMatching("packages/*/src/**/*", "packages/batchwise/test/house/**/*");
  const counts = new Map<string, number>();
  for (const folder of files.map((file) => posix.dirname(file))) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  expect(counts.size).toBeGreaterThan(50);
  expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([]);
});

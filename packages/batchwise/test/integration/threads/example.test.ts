import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { built, root } from "../../house/repository.ts";

test("the example runs on the built package, answers each caller, and ends by itself", () => {
  built("threads/index.js");
  const file = `${root}examples/threads/main.ts`;
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 60_000 });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  for (const number of [0, 1, 2, 3]) expect(stdout).toContain(`caller ${number}: 30 accepted, 10 refused\n`);
  expect(stdout).toMatch(/^160 checks in batches of (?:1\.[1-9]|[2-4]\.\d), \d+ ms each$/m);
  expect(stdout).toContain("this thread was free: yes\n");
});

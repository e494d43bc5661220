import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startCommand } from "../support/command.ts";
import { ended } from "../support/practice.ts";

test("--version prints only the package's version", async () => {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(manifest) as { readonly version: string };
  expect(await ended(startCommand("--version"))).toMatchObject({ code: 0, output: `${version}\n` });
});

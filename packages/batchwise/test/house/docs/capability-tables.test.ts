import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../repository.ts";
import { capabilityTables } from "./capability-tables.ts";

const PAGE = join(root, "docs/providers.md");
const MARKED = /(<!-- capabilities -->\n)([\s\S]*?)(<!-- \/capabilities -->)/;

/** `WRITE_TABLES=1` in the environment writes them in place of looking. */
test("the tables of providers are those of the records", async () => {
  const page = await readFile(PAGE, "utf8");
  const wanted = `\n${await capabilityTables()}\n`;
  if (process.env.WRITE_TABLES === "1") await writeFile(PAGE, page.replace(MARKED, `$1${wanted}$3`));
  const written = MARKED.exec(await readFile(PAGE, "utf8"))?.[2];
  expect(written, "WRITE_TABLES=1 npx vitest run packages/batchwise/test/house/docs/capability-tables.test.ts").toBe(
    wanted,
  );
});

import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { expect, test } from "vitest";
import { entries } from "../test/house/public-names.ts";
import { filesMatching, root } from "../test/house/repository.ts";

test("the site is built by one command, with every page, a reference of every entry, and search", {
  timeout: 240_000,
}, () => {
  const { status, stderr } = spawnSync("npm", ["run", "--silent", "site"], { cwd: root, encoding: "utf8" });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  for (const entry of entries().keys())
    expect(existsSync(`${root}site/dist/api/batchwise${entry.slice(1)}.html`), entry).toBe(true);
  for (const page of filesMatching("docs/**/*.md"))
    expect(existsSync(`${root}site/dist/${page.replace(/md$/, "html")}`), page).toBe(true);
  expect(globSync(`${root}site/dist/assets/chunks/*SearchIndex*`).length).toBeGreaterThan(0);
});

// The whole site is built by packages/batchwise/prove/site.test.ts.

import { expect, test } from "vitest";
import { sidebar } from "../../../../../site/sidebar.ts";
import { filesMatching } from "../repository.ts";

test("the sidebar of the site names every page of the documentation", () => {
  const named = new Set(sidebar.flatMap(({ items }) => items.map(({ link }) => link)));
  const pages = filesMatching("docs/**/*.md").map((page) => `/${page.replace(/\.md$/, "")}`);
  expect(pages.filter((page) => !named.has(page))).toEqual([]);
});

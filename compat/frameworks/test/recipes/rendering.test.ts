// The recipe for server-side rendering, with React's own server on real sockets.

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { importRecipe } from "./import-recipe.ts";

type Find = (ids: string[]) => Promise<string[]>;
type Recipe = { renderNames(ids: string[], find: Find, response: ServerResponse): void };

/** The address of a server that renders the names 1, 2 and 1. */
async function served(find: Find): Promise<string> {
  const { renderNames } = await importRecipe<Recipe>("Server-side rendering");
  const server = createServer((_request, response) => renderNames(["1", "2", "1"], find, response));
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a page streams, and its components have shared one query for each request", async () => {
  const asked: string[][] = [];
  const url = await served(async (ids) => {
    asked.push(ids);
    return ids.map((id) => `name ${id}`);
  });
  for (const requests of [1, 2]) {
    const response = await fetch(url);
    const names = (await response.text()).match(/<li>name \d<\/li>/g) ?? [];
    expect(response.status).toBe(200);
    expect(names.toSorted()).toEqual(["<li>name 1</li>", "<li>name 1</li>", "<li>name 2</li>"]);
    expect(asked).toEqual(Array(requests).fill(["1", "2"]));
  }
});

test("the shell of a page goes out before the query has ended", async () => {
  let answer = (_names: string[]): void => {};
  const names = new Promise<string[]>((resolve) => {
    answer = resolve;
  });
  const response = await fetch(await served(() => names));
  answer(["name 1", "name 2"]);
  const html = await response.text();
  expect(html.indexOf("<li>…</li>")).toBeLessThan(html.indexOf("<li>name 2</li>"));
  expect(html.indexOf("<li>…</li>")).toBeGreaterThan(-1);
});

test("a query that fails keeps the fallbacks in the page and is reported", async () => {
  const report = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => report.mockRestore());
  const response = await fetch(await served(() => Promise.reject(new Error("The database is gone."))));
  expect(await response.text()).toContain("<li>…</li>");
  expect(report.mock.calls.map(([error]) => (error as Error).message)).toContain("The database is gone.");
});

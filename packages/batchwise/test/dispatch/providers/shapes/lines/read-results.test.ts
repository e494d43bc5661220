// Results from several sources, some of which are unreadable.

import { expect, test } from "vitest";
import type { ResultLine } from "../../../../../src/dispatch/contract/account.ts";
import { DispatchError } from "../../../../../src/dispatch/contract/errors.ts";
import { readResults } from "../../../../../src/dispatch/providers/shapes/lines/read-results.ts";

const cut = new DispatchError("RESULTS_UNREADABLE", "cut");
const reset = new Error("reset");

/** The values of a source; an error among them is thrown. */
async function* source(values: readonly unknown[]): AsyncGenerator<unknown> {
  for (const value of values) {
    if (value instanceof Error) throw value;
    yield value;
  }
}

function toLine(value: unknown): ResultLine {
  if (value === "odd" || typeof value === "object") throw new TypeError("no such field");
  if (value === "nameless") throw new DispatchError("RESULTS_UNREADABLE", "nameless");
  return { customId: String(value), response: null, error: null, usage: null };
}

/** The results, and the error at the end. */
async function read(sources: readonly (readonly unknown[])[]): Promise<unknown[]> {
  const seen: unknown[] = [];
  try {
    for await (const { customId, error } of readResults(sources, source, toLine)) {
      seen.push(error === null ? customId : `${customId} ${error.code}`);
    }
  } catch (error) {
    seen.push(error);
  }
  return seen;
}

test.each<[string, readonly (readonly unknown[])[], unknown[]]>([
  ["come in their order", [["a", "b"], [], ["c"]], ["a", "b", "c"]],
  ["behind one without a name come too", [["a", "nameless", "b"], ["c"]], ["a", "b", "c", "nameless"]],
  ["behind one that cannot be converted and names no request come too", [["odd", {}, null, "a"]], ["a"]],
  [
    "that cannot be converted are failures of the requests they name",
    [[{ custom_id: "x" }, { recordId: "y" }, { key: "z" }, { metadata: { key: "w" } }, "a"]],
    [...["x", "y", "z", "w"].map((name) => `${name} result_unreadable`), "a"],
  ],
  ["of the next source come where one is cut", [["a", cut], ["b"]], ["a", "b", "cut"]],
  [
    "end with the first of the errors",
    [
      ["nameless", cut],
      ["odd", "a"],
    ],
    ["a", "nameless"],
  ],
  ["end at once where the connection does", [["a", "odd", reset], ["b"]], ["a", "reset"]],
])("results %s", async (_case, sources, expected) => {
  const seen = await read(sources);
  const last = seen.at(-1);
  const words = last instanceof Error ? [...seen.slice(0, -1), last.message] : seen;
  expect(words).toEqual(expected);
});

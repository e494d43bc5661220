// Lanes of requests that share a cache differ from all others.

import { expect, test } from "vitest";
import { cacheLaneName, cacheLaneOf } from "../../../src/dispatch/batches/seal/cache-lanes.ts";
import { laneName } from "../../../src/dispatch/format/encode.ts";

const plain = {
  ...{ endpoint: "/v1/chat/completions" as const, group: "", model: "m", inputs: 1, shared: "" },
  ...{ urgent: false, checked: "", payers: [], cached: "" },
};

test.each([
  ["a model's other requests", plain],
  ["requests that are checked and paid for", { ...plain, inputs: 4, shared: "s", checked: "c", payers: ["j", "t"] }],
  ["a model with a name like a lane", { ...plain, model: "x#a-first  y-next z" }],
])("the place beside %s is read back", (_what, fields) => {
  const base = laneName(fields);
  expect(cacheLaneOf(base)).toBe(null);
  for (const role of ["first", "next", "rest", "late"] as const) {
    expect(cacheLaneOf(cacheLaneName({ base, slot: "c", role }))).toEqual({ base, slot: "c", role });
  }
});

test.each([
  ["a part of a split batch", { group: "g1" }],
  ["an urgent request", { urgent: true }],
  ["a mark of a later version", { cached: "z-first" }],
  ["no lane", null],
])("%s waits for no other", (_what, fields) => {
  expect(cacheLaneOf(fields === null ? "" : laneName({ ...plain, cached: "a-first", ...fields }))).toBe(null);
});

// Where requests that share a cached prefix are placed.

import { expect, test } from "vitest";
import { cacheLaneOf } from "../../../../src/dispatch/batches/seal/cache-lanes.ts";
import type { NewRequest } from "../../../../src/dispatch/contract/store/rows.ts";
import { CachePlacing } from "../../../../src/dispatch/requests/enqueue/cache-placing.ts";
import { request } from "../../../../src/dispatch-testing/conformance/store/case.ts";

function placing(): CachePlacing {
  return new CachePlacing({
    prefixOf: () => ({ digest: "d", lastsMs: 3_600_000 }),
    primings: () => new Map(),
    now: () => 0,
    maxAgeMs: 60_000,
  });
}

function rows(count: number, model: string): NewRequest[] {
  return Array.from({ length: count }, (_, n) => request(`r${n}`, { lane: `/v1/chat/completions  ${model}` }));
}

const rolesOf = (placed: readonly NewRequest[]) => placed.map(({ lane }) => cacheLaneOf(lane)?.role);

test.each(["m", "x-first y", "x#a-first  y"])(
  "only a first request of %s that was stored before makes way",
  (model) => {
    const place = placing();
    const given = rows(9, model);
    expect(rolesOf(place.place(given)).slice(0, 4)).toEqual(["first", "next", "rest", "rest"]);
    place.settle(given, ["stored", "stored", ...Array(7).fill("same")]);
    expect(rolesOf(place.place(rows(8, model)))).toEqual(Array(8).fill("rest"));
    place.settle(given, ["same", ...Array(8).fill("stored")]);
    expect(rolesOf(place.place(rows(8, model))).slice(0, 3)).toEqual(["first", "next", "rest"]);
  },
);

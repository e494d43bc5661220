// Some of the deaths of kill-cases.ts: `npm run prove` runs all of them.

import { expect, test } from "vitest";
import { allDeaths, killer, someDeaths, titled } from "./kill-cases.ts";

const kill = killer();

test.concurrent.each(titled(someDeaths))("the %s store and %s, killed at %s", (_store, _service, _dieAt, row) =>
  kill(row),
);

test("every service dies, and every store meets every death", () => {
  const servicesOf = (deaths: typeof allDeaths) => new Set(deaths.map(([, service]) => service));
  const meetings = (deaths: typeof allDeaths) => new Set(deaths.map(([store, , { dieAt }]) => `${store} ${dieAt}`));
  expect(servicesOf(someDeaths)).toEqual(servicesOf(allDeaths));
  expect(meetings(someDeaths)).toEqual(meetings(allDeaths));
});

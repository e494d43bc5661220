// Some of the deaths of kill-cases.ts: `npm run prove` runs all of them.

import { expect, test } from "vitest";
import { allDeaths, killer, ONLY_PROVED, someDeaths, titled } from "./kill-cases.ts";

const kill = killer();

test.concurrent.each(titled(someDeaths))("the %s store and %s, killed at %s", (_store, _service, _dieAt, row) =>
  kill(row),
);

test("every service dies, here or under `npm run prove`, and every store meets every death", () => {
  const servicesOf = (deaths: typeof allDeaths) => new Set(deaths.map(([, service]) => service));
  const meetings = (deaths: typeof allDeaths) => new Set(deaths.map(([store, , { dieAt }]) => `${store} ${dieAt}`));
  expect(new Set([...servicesOf(someDeaths), ...ONLY_PROVED])).toEqual(servicesOf(allDeaths));
  expect(meetings(someDeaths)).toEqual(meetings(allDeaths));
});

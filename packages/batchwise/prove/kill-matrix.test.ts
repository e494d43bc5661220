// kill -9 at every named point of a batch's life, for every service and on every store.

import { test } from "vitest";
import { allDeaths, killer, titled } from "../test/integration/dispatch/processes/kill-cases.ts";

const kill = killer();

test.concurrent.each(titled(allDeaths))("the %s store and %s, killed at %s", (_store, _service, _dieAt, row) =>
  kill(row),
);

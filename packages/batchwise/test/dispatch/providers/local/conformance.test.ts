// The published suite for accounts that run lines: over a server of OpenAI's format by real HTTP,
// and over a function.

import { runnerConformance } from "batchwise/dispatch/testing";
import { describe, test } from "vitest";
import { openHandler, openServer } from "./runner-cases.ts";

describe.each([
  ["with a `baseURL`", openServer],
  ["with a handler", openHandler],
])("the local account %s", (_how, open) => {
  for (const { name, run } of runnerConformance) test(name, () => run(open));
});

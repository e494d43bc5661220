// A batch remembers its refusals, whatever else happens to it in between.

import { describe } from "vitest";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { testRememberedRefusals } from "../../support/remembered-refusals.ts";

describe("in memory", () => testRememberedRefusals(async () => memoryStore()));
describe("in SQLite", () => testRememberedRefusals(async () => sqliteStore({ path: ":memory:" })));

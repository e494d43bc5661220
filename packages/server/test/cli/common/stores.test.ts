// What the command says of a store that it cannot open.

import { afterEach, expect, test, vi } from "vitest";
import { openStore } from "../../../src/cli/common/stores.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("on a Node.js without SQLite the message has the command that installs another", async () => {
  vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
  const says = "`npm install node@24` brings one for `npx batchwise`, or name a postgres:// or redis:// store with";
  await expect(openStore("sqlite:a.sqlite", { create: true })).rejects.toThrow(says);
});

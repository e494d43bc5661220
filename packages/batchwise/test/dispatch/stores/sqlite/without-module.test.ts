// The error of a Node.js without node:sqlite.

import { expect, test, vi } from "vitest";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";

test("without node:sqlite a `path` is refused with both ways out", () => {
  const builtin = vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
  try {
    const open = (): unknown => sqliteStore({ path: ":memory:" });
    expect(open).toThrow(TypeError);
    expect(open).toThrow("`npm install node@24`, then `npx node`");
    expect(open).toThrow("`database: new Database(file)` of better-sqlite3");
  } finally {
    builtin.mockRestore();
  }
});

// A null is an absent option where JavaScript callers have always been able to write one, and is
// refused elsewhere.

import { expect, test } from "vitest";
import { runBatchOptions } from "../../../src/dispatch/jobs/run-batch-options.ts";
import { pruneOptions } from "../../../src/dispatch/options/call-options.ts";
import { resolveOptions } from "../../../src/dispatch/options/resolve-options.ts";
import { localAccount } from "../../../src/dispatch/providers/local/index.ts";
import { resolveAccountOptions } from "../../../src/dispatch/providers/shapes/account-options.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";

const account = localAccount({ baseURL: "http://127.0.0.1:1/v1" });
const given = { store: memoryStore(), accounts: [account] };
const settingsOf = (options: object) => resolveAccountOptions(options, [], account.capabilities);

test("the owner of a dispatcher and the plain options of an account may be null", () => {
  expect(resolveOptions({ ...given, owner: null } as never).owner).toMatch(/^[0-9A-Z]{26}$/);
  const names = ["name", "weight", "pollMs", "requestTimeoutMs", "reconcileGraceMs", "cleanup", "checkBodies"];
  const nulls = Object.fromEntries(names.map((name) => [name, null]));
  expect(JSON.stringify(settingsOf(nulls))).toBe(JSON.stringify(settingsOf({})));
});

test.each<[string, () => unknown]>([
  ["fallback", () => settingsOf({ fallback: null })],
  ["onProgress", () => runBatchOptions({ ...given, job: "j", requests: [], onProgress: null } as never)],
  ["tombstoneRetentionMs", () => pruneOptions({ olderThanMs: 5, tombstoneRetentionMs: null } as never)],
])("`%s` may not be null", (name, resolve) => {
  expect(resolve).toThrow(`Expected \`${name}\` to be `);
});

// What `jobs list` and `jobs inspect` show of limits on the price.

import { createDispatcher } from "batchwise/dispatch";
import { localAccount } from "batchwise/dispatch/local";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { Practice } from "../support/practice.ts";

const TENANT = "acme\x1b[2J";

test("list and inspect show spent, reserved and limit of tenants whose requests are still open", async () => {
  const practice = await Practice.start();
  const none = await practice.done("jobs", "list");
  expect(none.output).not.toContain("PRICE OF");
  const store = sqliteStore({ path: practice.file("batchwise.sqlite") });
  const client = new OpenAI({ apiKey: "any", baseURL: "http://fake.test/v1", fetch: fakeProvider().fetch });
  const dispatcher = createDispatcher({
    ...{ store, accounts: [openaiAccount({ client })], prices: { m: { input: 1, output: 1 } } },
    maxPrice: { tenants: { [TENANT]: 12.5, free: Number.POSITIVE_INFINITY } },
  });
  const request = { tenant: TENANT, body: { model: "m", messages: [{ role: "user", content: "x" }], max_tokens: 10 } };
  await dispatcher.enqueueMany([
    { ...request, id: "alone" },
    { ...request, id: "in:0", job: "in", tenant: "free" },
  ]);
  await dispatcher.stop();
  await store.close();
  const { output } = await practice.done("jobs", "list");
  expect(output).toMatch(/^PRICE OF +NAME +SPENT +RESERVED +LIMIT$/m);
  expect(output).toMatch(/^tenant +acme\\u001b\[2J +\$0\.0000 +\$0\.0000 +\$12\.50$/m);
  const inspected = await practice.done("jobs", "inspect", "in");
  expect(inspected.output).toMatch(
    /^limit +none, \$0\.0000 spent, \$0\.0000 reserved, of all jobs of the tenant free$/m,
  );
  const { stdout } = await practice.done("jobs", "list", "--json");
  const figures = { kind: "tenant", spent: 0, reserved: 0 };
  expect((JSON.parse(stdout) as { readonly prices: unknown }).prices).toEqual([
    { ...figures, name: TENANT, limit: 12.5 },
    { ...figures, name: "free", limit: null },
  ]);
});

test("list shows the cost of answers beside a limit", async () => {
  const practice = await Practice.start();
  const store = sqliteStore({ path: practice.file("batchwise.sqlite") });
  const message = { role: "assistant", content: "yes" };
  const usage = { prompt_tokens: 100_000, completion_tokens: 20_000, total_tokens: 120_000 };
  const account = localAccount({ handler: () => ({ choices: [{ message, finish_reason: "stop" }], usage }) });
  const dispatcher = createDispatcher({
    ...{ store, accounts: [account], prices: { m: { input: 1, output: 10, batchDiscount: 0 } } },
    ...{ maxPrice: { tenants: { acme: 12.5 } }, thresholds: { maxAgeMs: 0 } },
  });
  await dispatcher.start();
  const body = { model: "m", messages: [{ role: "user", content: "x" }], max_tokens: 10 };
  const { id } = await dispatcher.enqueue({ tenant: "acme", body });
  await dispatcher.result(id);
  await dispatcher.stop();
  await store.close();
  const { output } = await practice.done("jobs", "list");
  expect(output).toMatch(/^tenant +acme +\$0\.3000 +\$0\.0000 +\$12\.50$/m);
});

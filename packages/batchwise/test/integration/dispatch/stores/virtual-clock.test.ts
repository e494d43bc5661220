// A dispatcher on the virtual clock with a store in a real server: time stands still while a call
// of the store is under way.

import { createDispatcher, type Store } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { postgresStore } from "batchwise/dispatch/postgres";
import { redisStore } from "batchwise/dispatch/redis";
import { fakeProvider } from "batchwise/dispatch/testing";
import { virtualClock } from "batchwise/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";
import { clientAt } from "../../services/redis.ts";

const HOUR = 3_600_000;

test.each<[string, () => Promise<Store>]>([
  [
    "Postgres",
    async () => {
      const pool = poolAt(await postgresPlace());
      onTestFinished(() => pool.end());
      return postgresStore({ pool });
    },
  ],
  [
    "Redis",
    async () => {
      const { port, prefix } = await redisPlace();
      const client = clientAt(port);
      onTestFinished(() => client.disconnect());
      return redisStore({ client, prefix });
    },
  ],
])("a batch is sent when its oldest request is two hours old, on %s", async (_, open) => {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock });
  const { url, close } = await fake.listen();
  onTestFinished(close);
  const errors: unknown[] = [];
  const dispatcher = createDispatcher({
    ...{ store: await open(), clock, onError: (error) => errors.push(error) },
    accounts: [openaiAccount({ client: new OpenAI({ apiKey: "any", baseURL: `${url}/v1`, maxRetries: 0 }) })],
  });
  await dispatcher.start();
  await dispatcher.enqueue({ id: "a", body: { model: "m", messages: [{ role: "user", content: "first" }] } });
  await clock.advance(2 * HOUR - 1);
  expect(fake.batches()).toHaveLength(0);
  await clock.advance(1);
  expect(fake.batches()).toHaveLength(1);
  await clock.advance(HOUR);
  expect((await dispatcher.result("a")).status).toBe("succeeded");
  expect([...fake.runs().values()]).toEqual([1]);
  expect(errors).toEqual([]);
  await dispatcher.stop();
});

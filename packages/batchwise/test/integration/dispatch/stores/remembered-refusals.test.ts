// A batch remembers its refusals in a store of a real server, too.

import { postgresStore } from "batchwise/dispatch/postgres";
import { redisStore } from "batchwise/dispatch/redis";
import { describe, onTestFinished } from "vitest";
import { testRememberedRefusals } from "../../../dispatch/support/remembered-refusals.ts";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";
import { clientAt } from "../../services/redis.ts";

describe("in Postgres", () =>
  testRememberedRefusals(async () => {
    const pool = poolAt(await postgresPlace());
    onTestFinished(() => pool.end());
    return postgresStore({ pool });
  }, true));

describe("in Redis", () =>
  testRememberedRefusals(async () => {
    const { port, prefix } = await redisPlace();
    const client = clientAt(port);
    onTestFinished(() => client.disconnect());
    return redisStore({ client, prefix });
  }, true));

// Very many requests of a lane whose time has come: no single call holds the server for all of
// them.

import { redisStore } from "batchwise/dispatch/redis";
import { expect, onTestFinished, test } from "vitest";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { redisPlace } from "../../services/kept.ts";
import { clientAt } from "../../services/redis.ts";

const CROWD = 12_000;
const CALL = 1_000;
const LATER = NOW + 1_000;

test("a seal wakes them in several calls, and takes the first in claim order all the same", async () => {
  const { port, prefix } = await redisPlace();
  const client = clientAt(port);
  let scripts = 0;
  const counting = {
    call: (command: string, ...args: (string | number)[]): Promise<unknown> => {
      scripts += 1;
      return client.call(command, ...args);
    },
  };
  const store = redisStore({ client: counting, prefix });
  onTestFinished(async () => {
    await store.close();
    client.disconnect();
  });
  for (let n = 0; n < CROWD; n += CALL) await store.enqueue(requests(CALL, `${n}-`), NOW);
  expect(await store.seal(sealInput("first"))).toMatchObject({ ok: true, batch: { requests: CROWD } });
  for (let n = 0; n < CROWD; n += CALL) {
    const items = Array.from({ length: CALL }, (_, i) => {
      const back = { kind: "requeue", code: "c", charged: true, lane: sealInput("").lane } as const;
      // The first in claim order come last among those that wait.
      return { ...back, ord: n + i, notBefore: LATER - n };
    });
    await store.settle({
      key: "first",
      fence: 1,
      items,
      sinks: [],
      cancelledPayload: "",
      cancelledCode: "",
      now: NOW - CROWD,
    });
  }
  scripts = 0;
  const again = await store.seal({ ...sealInput("second", 3), now: LATER });
  expect(again).toMatchObject({ ok: true, batch: { requests: 3 } });
  expect(scripts).toBe(3);
  const members = await store.requests({ batchKey: "second", fromOrd: 0, limit: 10 });
  expect(members.map(({ id }) => id)).toEqual(["0-0", "0-1", "0-2"]);
  const { lanes } = await store.probe(CROWD, LATER);
  expect(lanes).toMatchObject([{ ready: CROWD - 3 }]);
}, 30_000);

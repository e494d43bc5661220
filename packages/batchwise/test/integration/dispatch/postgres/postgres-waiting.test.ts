// The count of what waits in each lane, which the probe goes by: right after everything that moves
// a request.

import { postgresStore } from "batchwise/dispatch/postgres";
import { expect, onTestFinished, test } from "vitest";
import type { Settlement } from "../../../../src/dispatch/contract/store/outcome-rows.ts";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";

test("the counts are those of the rows after enqueues, seals, settles and changes of many at once", async () => {
  const db = poolAt(await postgresPlace());
  const store = postgresStore({ pool: db });
  onTestFinished(async () => {
    await store.close();
    await db.end();
  });
  const { lane } = sealInput("");
  const ending = { payload: "{}", code: "c" };
  const wrong = async (): Promise<unknown[]> => {
    const { rows } = await db.query(
      `SELECT lane, counted, there FROM (SELECT lane, sum(requests) AS counted FROM batchwise_waiting GROUP BY lane) c
       FULL JOIN (SELECT lane, count(*) AS there FROM batchwise_ready WHERE NOT later GROUP BY lane) r USING (lane)
       WHERE coalesce(counted, 0) <> coalesce(there, 0)`,
    );
    return rows;
  };
  const steps: readonly (() => Promise<unknown>)[] = [
    () => Promise.all([1, 2, 3, 4].map((n) => store.enqueue(requests(50, `a${n}-`), NOW))),
    () =>
      store.enqueue(
        requests(20, "late").map((one) => ({ ...one, deadlineAt: NOW + 1 })),
        NOW,
      ),
    () => Promise.all([1, 2].map((n) => store.seal({ ...sealInput(`k${n}`), ledger: `l${n}`, maxRequests: 40 }))),
    async () => {
      const items = Array.from({ length: 40 }, (_, ord): Settlement => {
        if (ord % 4 === 0) return { ord, kind: "requeue", code: "c", charged: true, notBefore: NOW + 50, lane };
        if (ord % 4 === 1) return { ord, kind: "requeue", code: "c", charged: true, notBefore: 0, lane: `${lane}-2` };
        return { ord, kind: "final", status: "failed", ...ending, usage: null, charged: true };
      });
      const cancelled = { cancelledPayload: "{}", cancelledCode: "c" };
      await store.settle({ key: "k1", fence: 1, items, sinks: [], ...cancelled, now: NOW });
    },
    () => store.amend({ kind: "cancel", ids: ["a1-49", "a2-49", "late0"], ...ending }, [], NOW),
    () => store.amend({ kind: "move", lane, to: `${lane}-3`, before: NOW + 9, limit: 5 }, [], NOW),
    () => store.amend({ kind: "expire", limit: 9, ...ending }, [], NOW + 2),
    () => store.amend({ kind: "retry", ids: ["late0", "a1-49"], lanes: [lane, `${lane}-2`] }, [], NOW),
    () => store.seal({ ...sealInput("k3"), now: NOW + 60, minRequests: 9_999 }),
    () => store.amend({ kind: "hasten", after: NOW - 1 }, [], NOW),
    () => store.seal({ ...sealInput("k4"), now: NOW + 60 }),
  ];
  for (const [n, step] of steps.entries()) {
    await step();
    expect({ after: n, wrong: await wrong() }).toEqual({ after: n, wrong: [] });
  }
  const { rows } = await db.query("SELECT lane FROM batchwise_waiting");
  expect(rows.length).toBeLessThan(10);
});

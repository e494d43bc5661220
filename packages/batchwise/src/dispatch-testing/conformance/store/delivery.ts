// Cases on delivering outcomes: taking due deliveries, reporting their results, and the delivery
// log.

import { deepEqual } from "node:assert/strict";
import type { DeliveriesInput } from "../../../dispatch/contract/store/calls.ts";
import type { DeliveryReport, DeliveryState } from "../../../dispatch/contract/store/outcome-rows.ts";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import { final, NOW, OK, retryOf, type StoreCase, sealed, settleInput, storeCase } from "./case.ts";

const UNTIL = NOW + 60_000;

async function settled(store: Store, count: number, sinks: readonly string[]): Promise<void> {
  const batch = await sealed(store, 1, count);
  const items = Array.from({ length: count }, (_, ord) => final(ord));
  await store.settle(settleInput(batch, items, { sinks }));
}

function take(changes: Partial<NonNullable<DeliveriesInput["take"]>> = {}, now = NOW): DeliveriesInput {
  return { now, reports: [], take: { sinks: ["hook"], limit: 10, leaseUntil: UNTIL, ...changes } };
}

async function taken(store: Store, input: DeliveriesInput): Promise<(string | number)[][]> {
  return (await store.deliveries(input)).map(({ sink, attempt, outcome }) => [outcome.cursor, sink, attempt]);
}

function report(changes: Partial<DeliveryReport> = {}): DeliveryReport {
  const fields = { cursor: 1, sink: "hook", result: "delivered", attempt: 1, at: NOW, statusCode: 200 } as const;
  return { ...fields, error: null, nextAt: 0, ...changes };
}

async function book(store: Store, ...reports: DeliveryReport[]): Promise<void> {
  deepEqual(await store.deliveries({ now: NOW, reports, take: null }), []);
}

async function state(store: Store): Promise<DeliveryState | undefined> {
  const [row] = await store.outcomes({ ids: ["b1-0"], deliveries: true });
  return row?.deliveries?.find(({ sink }) => sink === "hook");
}

/** The cursors of abandoned deliveries. */
async function deadOf(store: Store, after = 0, limit = 10): Promise<number[]> {
  return (await store.outcomes({ after, limit, dead: "hook" })).map(({ cursor }) => cursor);
}

const deadCases: readonly StoreCase[] = [
  storeCase("finds abandoned deliveries by sink and cursor, with their log", async (store) => {
    await settled(store, 4, ["hook", "callback"]);
    await store.deliveries(take());
    await store.deliveries(take({ sinks: ["callback"] }));
    const reports = [1, 3, 4].map((cursor) => report({ cursor, result: "dead", statusCode: 500, error: "no" }));
    await book(store, ...reports, report({ cursor: 2, sink: "callback", result: "dead" }), report({ cursor: 2 }));
    deepEqual([await deadOf(store), await deadOf(store, 1, 1), await deadOf(store, 4)], [[1, 3, 4], [3], []]);
    const [row] = await store.outcomes({ after: 2, limit: 1, dead: "hook", deliveries: true });
    deepEqual(row?.deliveries?.find(({ sink }) => sink === "hook")?.log, [
      { attempt: 1, at: NOW, statusCode: 500, error: "no" },
    ]);
    await book(store, report({ cursor: 3, attempt: 2 }));
    deepEqual(await deadOf(store), [1, 4]);
  }),

  storeCase(
    "makes abandoned deliveries wait again, the oldest first, up to the limit, with their attempts",
    async (store) => {
      await settled(store, 3, ["hook"]);
      await store.deliveries(take());
      await book(store, ...[1, 2, 3].map((cursor) => report({ cursor, result: "dead" })));
      deepEqual((await store.probe(1, NOW)).deliveriesWaiting, 0);
      const again = { kind: "redeliver", sink: "hook", after: 1, limit: 1 } as const;
      deepEqual(await store.amend({ ...again, sink: "callback" }, [], NOW), []);
      deepEqual(await store.amend(again, [], NOW + 7), [{ id: "b1-1", result: "changed" }]);
      deepEqual(await store.amend({ ...again, after: 0, limit: 5 }, [], NOW + 7), [
        { id: "b1-0", result: "changed" },
        { id: "b1-2", result: "changed" },
      ]);
      const { deliveriesWaiting, deliveryDueAt } = await store.probe(1, NOW);
      deepEqual([deliveriesWaiting, deliveryDueAt, await deadOf(store)], [3, NOW + 7, []]);
      deepEqual(await taken(store, take({}, NOW + 7)), [
        [1, "hook", 2],
        [2, "hook", 2],
        [3, "hook", 2],
      ]);
      await book(store, report({ attempt: 2 }), report({ cursor: 2, attempt: 2, result: "dead" }));
      deepEqual([(await store.probe(1, NOW)).deliveriesWaiting, await deadOf(store)], [1, [2]]);
    },
  ),

  storeCase("drops abandoned deliveries of a retried request", async (store) => {
    const batch = await sealed(store, 1, 1);
    await store.settle(settleInput(batch, [final(0, "failed")], { sinks: ["hook"] }));
    await store.deliveries(take());
    await book(store, report({ result: "dead" }));
    await store.amend(retryOf("b1-0"), [], NOW);
    deepEqual(await deadOf(store), []);
    deepEqual(await store.amend({ kind: "redeliver", sink: "hook", after: 0, limit: 9 }, [], NOW), []);
  }),
];

const takingCases: readonly StoreCase[] = [
  storeCase("makes a delivery for each sink and outcome, due at once, oldest cursor first", async (store) => {
    await settled(store, 3, ["hook", "callback"]);
    deepEqual((await store.probe(1, NOW)).deliveriesWaiting, 6);
    deepEqual(await taken(store, take({ limit: 2 })), [
      [1, "hook", 1],
      [2, "hook", 1],
    ]);
    const rest = await taken(store, take({ sinks: ["callback", "hook"] }));
    deepEqual(rest.length, 4);
    deepEqual(
      rest.map(([cursor]) => cursor),
      [1, 2, 3, 3],
    );
    deepEqual(await taken(store, take({ sinks: ["callback", "hook"] })), []);
  }),

  storeCase("hands the whole outcome out", async (store) => {
    await settled(store, 1, ["hook"]);
    const [row] = await store.deliveries(take());
    const [outcome] = await store.outcomes({ after: 0, limit: 1 });
    deepEqual(row, { sink: "hook", attempt: 1, outcome });
  }),

  storeCase("makes a taken delivery due again when its lease has expired", async (store) => {
    await settled(store, 1, ["hook"]);
    await taken(store, take());
    deepEqual((await store.probe(1, NOW)).deliveryDueAt, UNTIL);
    deepEqual(await taken(store, take({}, UNTIL - 1)), []);
    deepEqual(await taken(store, take({ leaseUntil: UNTIL + 1 }, UNTIL)), [[1, "hook", 2]]);
  }),

  storeCase("takes the oldest cursor first, in any order of due times", async (store) => {
    await settled(store, 4, ["hook"]);
    await taken(store, take());
    const delays = [30, 10, 20, 5];
    await book(store, ...delays.map((ms, n) => report({ cursor: n + 1, result: "retry", nextAt: NOW + ms })));
    deepEqual(await taken(store, take({ limit: 1 }, NOW + 15)), [[2, "hook", 2]]);
    deepEqual(await taken(store, take({ limit: 2 }, NOW + 40)), [
      [1, "hook", 2],
      [3, "hook", 2],
    ]);
    deepEqual(await taken(store, take({}, NOW + 40)), [[4, "hook", 2]]);
  }),

  storeCase("postpones a delivery that was due again when its attempt is reported late", async (store) => {
    await settled(store, 2, ["hook"]);
    await taken(store, take());
    deepEqual(await taken(store, take({ limit: 1, leaseUntil: UNTIL + 90 }, UNTIL)), [[1, "hook", 2]]);
    await book(store, report({ cursor: 2, result: "retry", nextAt: UNTIL + 50 }));
    deepEqual((await store.probe(1, UNTIL)).deliveryDueAt, UNTIL + 50);
    deepEqual(await taken(store, take({}, UNTIL)), []);
    deepEqual(await taken(store, take({}, UNTIL + 50)), [[2, "hook", 2]]);
  }),

  storeCase("gives a delivery to one of many that take at once", async (store, open) => {
    const other = await open();
    await settled(store, 30, ["hook"]);
    const calls = Array.from({ length: 6 }, (_, n) => taken(n % 2 ? store : other, take({ limit: 7 })));
    const rows = (await Promise.all(calls)).flat();
    deepEqual(new Set(rows.map(([cursor]) => cursor)).size, rows.length);
    deepEqual(new Set(rows.map(([, , attempt]) => attempt)), new Set([1]));
  }),

  storeCase("makes no delivery where there is no sink", async (store) => {
    await settled(store, 2, []);
    deepEqual(await taken(store, take()), []);
    const [row] = await store.outcomes({ after: 0, limit: 1, deliveries: true });
    deepEqual(row?.deliveries, []);
  }),
];

const reportCases: readonly StoreCase[] = [
  storeCase("never hands out a delivered outcome again", async (store) => {
    await settled(store, 1, ["hook"]);
    await taken(store, take());
    await book(store, report());
    deepEqual(await taken(store, take({}, UNTIL + 1)), []);
    const log = [{ attempt: 1, at: NOW, statusCode: 200, error: null }];
    const found = await state(store);
    deepEqual([found?.state, found?.attempt, found?.log], ["delivered", 1, log]);
    const { deliveriesWaiting, deliveryDueAt } = await store.probe(1, NOW);
    deepEqual([deliveriesWaiting, deliveryDueAt], [0, null]);
  }),

  storeCase("tries again or gives up as the report says", async (store) => {
    await settled(store, 1, ["hook"]);
    await taken(store, take());
    await book(store, report({ result: "retry", statusCode: 503, error: "busy", nextAt: NOW + 50 }));
    deepEqual((await store.probe(1, NOW)).deliveryDueAt, NOW + 50);
    deepEqual(await taken(store, take({}, NOW + 50)), [[1, "hook", 2]]);
    await book(store, report({ attempt: 2, result: "dead", statusCode: null, error: "no route" }));
    deepEqual(await taken(store, take({}, UNTIL + 1)), []);
    const found = await state(store);
    deepEqual([found?.state, found?.log.length, found?.log[1]?.error], ["dead", 2, "no route"]);
    deepEqual((await store.probe(1, NOW)).deliveriesWaiting, 0);
  }),

  storeCase("logs a late report without going back on the present attempt", async (store) => {
    await settled(store, 1, ["hook"]);
    await taken(store, take());
    await taken(store, take({ leaseUntil: UNTIL + 60_000 }, UNTIL));
    await book(store, report({ attempt: 1, result: "dead", statusCode: 500 }));
    const found = await state(store);
    deepEqual([found?.state, found?.attempt, found?.nextAt, found?.log.length], ["waiting", 2, UNTIL + 60_000, 1]);
  }),

  storeCase("accepts `delivered` of any attempt, and never delivers again", async (store) => {
    await settled(store, 1, ["hook"]);
    await taken(store, take());
    await taken(store, take({ leaseUntil: UNTIL + 60_000 }, UNTIL));
    await book(store, report({ attempt: 1 }));
    await book(store, report({ attempt: 2, result: "dead" }), report({ attempt: 2, result: "retry" }));
    const found = await state(store);
    deepEqual([found?.state, found?.log.map(({ attempt }) => attempt)], ["delivered", [1, 2]]);
  }),

  storeCase("changes nothing for a repeated report or one about nothing", async (store) => {
    await settled(store, 1, ["hook"]);
    await taken(store, take());
    const retry = report({ result: "retry", nextAt: NOW + 5 });
    await book(store, retry, retry);
    await book(store, { ...retry, nextAt: NOW + 900 });
    await book(store, report({ cursor: 99 }), report({ sink: "nobody" }));
    const found = await state(store);
    deepEqual([found?.nextAt, found?.log.length], [NOW + 5, 1]);
  }),

  storeCase("writes reports before it takes deliveries", async (store) => {
    await settled(store, 2, ["hook"]);
    await taken(store, take());
    const reports = [report(), report({ cursor: 2, result: "retry", nextAt: NOW + 1 })];
    deepEqual(await taken(store, { ...take({}, NOW + 1), reports }), [[2, "hook", 2]]);
  }),

  storeCase("drops pending deliveries of a withdrawn outcome", async (store) => {
    const batch = await sealed(store, 1, 1);
    await store.settle(settleInput(batch, [final(0, "failed")], { sinks: ["hook", "callback"] }));
    await taken(store, take());
    await book(store, report());
    await store.amend(retryOf("b1-0"), [], NOW);
    deepEqual(await taken(store, take({ sinks: ["hook", "callback"] }, UNTIL + 1)), []);
    await book(store, report({ sink: "callback", result: "retry", nextAt: NOW }));
    await store.amend({ kind: "cancel", ids: ["b1-0"], payload: OK, code: "c" }, ["hook"], NOW);
    deepEqual(await taken(store, take({ sinks: ["hook", "callback"] }, UNTIL + 1)), [[2, "hook", 1]]);
  }),
];

export const deliveryCases: readonly StoreCase[] = [...takingCases, ...deadCases, ...reportCases];

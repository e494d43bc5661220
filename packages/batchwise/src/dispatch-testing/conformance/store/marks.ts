// Cases on marks, the named texts that all processes share.

import { deepEqual } from "node:assert/strict";
import { NOW, type StoreCase, storeCase } from "./case.ts";

export const marksCases: readonly StoreCase[] = [
  storeCase("has no marks in a new store", async (store) => {
    deepEqual(await store.marks([], NOW), []);
  }),

  storeCase("sets, changes and removes a mark that has the expected value", async (store) => {
    const set = { name: "m", expected: null, value: "1" };
    deepEqual(await store.marks([set], NOW), [{ name: "m", value: "1" }]);
    deepEqual(await store.marks([{ ...set, value: "2" }], NOW), [{ name: "m", value: "1" }]);
    deepEqual(await store.marks([{ name: "m", expected: "1", value: "" }], NOW), [{ name: "m", value: "" }]);
    deepEqual(await store.marks([{ name: "m", expected: null, value: "3" }], NOW), [{ name: "m", value: "" }]);
    deepEqual(await store.marks([{ name: "m", expected: "1", value: null }], NOW), [{ name: "m", value: "" }]);
    deepEqual(await store.marks([{ name: "m", expected: "", value: null }], NOW), []);
    deepEqual(await store.marks([{ name: "m", expected: "", value: "4" }], NOW), []);
  }),

  storeCase("makes changes in order and answers all marks by name", async (store) => {
    const changes = [
      { name: "b", expected: null, value: "1" },
      { name: "a", expected: null, value: "x y\n'\"é" },
      { name: "b", expected: "1", value: "2" },
    ];
    const all = [
      { name: "a", value: "x y\n'\"é" },
      { name: "b", value: "2" },
    ];
    deepEqual(await store.marks(changes, NOW), all);
    deepEqual(await store.marks([], NOW + 9), all);
  }),

  storeCase("lets one of several concurrent changes of a mark win", async (store, open) => {
    const stores = [store, await open(), await open(), await open()];
    const tries = stores.map((one, n) => one.marks([{ name: "m", expected: null, value: `${n}` }], NOW));
    const seen = (await Promise.all(tries)).map((marks) => marks.find(({ name }) => name === "m")?.value);
    const [last] = await store.marks([], NOW);
    deepEqual(new Set(seen), new Set([last?.value]));
  }),
];

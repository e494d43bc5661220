import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { describeStore } from "../conformance.ts";

describeStore("the memory store", false, async () => {
  const store = memoryStore();
  return { open: async () => store, remove: async () => {} };
});

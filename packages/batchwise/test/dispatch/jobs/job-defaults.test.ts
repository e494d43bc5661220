// A job that is run again with other `requestDefaults`: official client, virtual time.

import { expect, test } from "vitest";
import { keepJobDefaults } from "../../../src/dispatch/jobs/job-defaults.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { all, bodyOf, jobWorld } from "../support/job-world.ts";

const asked = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ body: { messages: bodyOf(`r${n}`).messages } }));
const modelOf = ({ response }: { readonly response: { readonly body: object } | null }): unknown =>
  (response?.body as { readonly model?: unknown } | undefined)?.model;

test("other defaults are refused before anything is sent, and the message names the changed ones", async () => {
  const { run, settle, fake, time } = jobWorld();
  const first = await settle(all(run({ requests: asked(3), requestDefaults: { model: "m", temperature: 0 } })));
  const [calls, rows] = [fake.calls(), first.length];
  const again = settle(all(run({ requests: asked(5), requestDefaults: { model: "n", temperature: 0, seed: 1 } })));
  await expect(again).rejects.toMatchObject({ code: "DEFAULTS_CHANGED" });
  await expect(again).rejects.toThrow(
    'The job "night" was run with other `requestDefaults` (`model`, `seed`), and would give the answers of those: use a new `job`, or `onChange: "keep"`.',
  );
  expect([fake.calls(), rows, time.nextAt]).toEqual([calls, 3, Number.POSITIVE_INFINITY]);
});

test("the order of keys does not count, at any depth", async () => {
  const { run, settle } = jobWorld();
  const defaults = { model: "m", response_format: { type: "json_schema", json_schema: { name: "a", strict: true } } };
  const same = { response_format: { json_schema: { strict: true, name: "a" }, type: "json_schema" }, model: "m" };
  const first = await settle(all(run({ requests: asked(3), requestDefaults: defaults })));
  expect(await settle(all(run({ requests: asked(3), requestDefaults: same })))).toEqual(first);
});

test("keep does not change stored requests, and gives the new defaults to the rest", async () => {
  const { run, settle } = jobWorld();
  await settle(all(run({ requests: asked(3), requestDefaults: { model: "m" } })));
  const requestDefaults = { model: "n" };
  const outcomes = await settle(all(run({ requests: asked(5), requestDefaults, onChange: "keep" })));
  const models = outcomes.map((outcome) => [outcome.index, modelOf(outcome)]);
  expect(models.toSorted()).toEqual([..."mmmnn"].map((model, index) => [index, model]));
  // They are the job's from then on.
  expect(await settle(all(run({ requests: asked(5), requestDefaults })))).toHaveLength(5);
  await expect(settle(all(run({ requests: asked(5), requestDefaults: { model: "m" } })))).rejects.toThrow("`model`");
});

test("a job without kept defaults, of an earlier version, takes the first that it sees", async () => {
  const { run, settle, store } = jobWorld();
  await settle(all(run({ requests: asked(3), requestDefaults: { model: "m" } })));
  const [mark] = await store.marks([], 0);
  await store.marks([{ name: mark?.name ?? "", expected: mark?.value ?? null, value: null }], 0);
  expect(await settle(all(run({ requests: asked(3), requestDefaults: { model: "n" } })))).toHaveLength(3);
  await expect(settle(all(run({ requests: asked(3), requestDefaults: { model: "m" } })))).rejects.toThrow("`model`");
});

test("a run that was refused for a missing model may be called again with one", async () => {
  const { run, settle } = jobWorld();
  await expect(settle(all(run({ requests: asked(3) })))).rejects.toMatchObject({ code: "MISSING_MODEL" });
  expect(await settle(all(run({ requests: asked(3), requestDefaults: { model: "m" } })))).toHaveLength(3);
});

test("onChange is refuse or keep", () => {
  const { run } = jobWorld();
  const call = () => run({ requests: asked(1), onChange: "replace" as never });
  expect(call).toThrow('Expected `onChange` to be "refuse" or "keep"');
});

test("the marks of a store have an end: the job that was run longest ago makes room", async () => {
  const store = memoryStore();
  const request = {
    id: "a",
    digest: "a",
    priority: 0,
    tenant: "",
    deadlineAt: null,
    bytes: 1,
    tokens: 1,
    metadata: null,
  };
  await store.enqueue([{ ...request, lane: "/v1/embeddings m", job: "j1009", body: "{}" }], 0);
  for (let n = 0; n < 1_010; n += 1) await keepJobDefaults(store, { job: `j${n}`, requestDefaults: {} }, n);
  expect(await store.marks([], 0)).toHaveLength(1_000);
  const other = { requestDefaults: { model: "m" } };
  await expect(keepJobDefaults(store, { job: "j1009", ...other }, 2_000)).rejects.toThrow("`model`");
  await keepJobDefaults(store, { job: "j3", ...other }, 2_000);
});

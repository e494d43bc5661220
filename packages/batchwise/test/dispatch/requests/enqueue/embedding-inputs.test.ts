// OpenAI limits the inputs of an embeddings batch to 50,000: no batch has more.

import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { batchCaps } from "../../../../src/dispatch/batches/seal/thresholds.ts";
import type { ProviderLimits } from "../../../../src/dispatch/contract/capabilities.ts";
import type { DispatchRequest } from "../../../../src/dispatch/contract/types.ts";
import { inputsOf, laneInputs } from "../../../../src/dispatch/format/inputs.ts";
import { drive } from "../../support/drive.ts";
import { SIM_LIMITS } from "../../support/simulation/sim-provider.ts";
import { isAtRest, world } from "../../support/world.ts";

const MINUTE = 60_000;
const accountOf = (fake: FakeProvider, limits: Partial<ProviderLimits> = {}) =>
  openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch }), limits });

const embed = (id: string, inputs: number): DispatchRequest => ({
  id,
  body: { model: "e", input: Array.from({ length: inputs }, (_, index) => `${id} ${index}`) },
});

async function embedded(requests: readonly DispatchRequest[], most: number) {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, limits: { maxEmbeddingInputs: most } });
  const thresholds = { maxAgeMs: MINUTE };
  const dispatcher = await start({ accounts: [accountOf(fake, { maxInputs: most })], thresholds });
  await dispatcher.enqueueMany(requests);
  await drive(time, fake, () => isAtRest(store, time.now()));
  const states = fake.batches().map(({ state }) => state);
  return { states, stats: await dispatcher.stats() };
}

test.each([
  ["of 16 inputs each", () => 16, 8],
  ["of 1 to 40 inputs, in no order", (index: number) => ((index * 17) % 40) + 1, 30],
  ["of one input, as a text or a list of one", () => 1, 2],
])("requests %s make batches of which none is refused", async (_name, inputs, mostBatches) => {
  const requests = Array.from({ length: 80 }, (_, index) => embed(`r${index}`, inputs(index)));
  const { states, stats } = await embedded(requests, 160);
  expect(new Set(states)).toEqual(new Set(["completed"]));
  expect(states.length).toBeLessThanOrEqual(mostBatches);
  expect(stats.outcomes.succeeded).toBe(80);
  expect(stats.ledgers.map(({ name }) => name)).toEqual(["openai/e"]);
});

test("requests that wait are one lane in the stats, however many inputs they hold", async () => {
  const { time, start } = world();
  const dispatcher = await start({ accounts: [accountOf(fakeProvider({ clock: time }))] });
  await dispatcher.enqueueMany([embed("a", 1), embed("b", 3), embed("c", 2_000)]);
  const { lanes } = await dispatcher.stats();
  expect(lanes).toMatchObject([{ endpoint: "/v1/embeddings", model: "e", waiting: 3 }]);
});

test("a request of more inputs than a batch may hold is refused when it is enqueued", async () => {
  const { time, start } = world();
  const dispatcher = await start({ accounts: [accountOf(fakeProvider({ clock: time }), { maxInputs: 100 })] });
  await expect(dispatcher.enqueue(embed("a", 101))).rejects.toMatchObject({
    code: "REQUEST_TOO_LARGE",
    message: "The request has 101 inputs alone, more than a whole batch may (100).",
  });
  await dispatcher.enqueue(embed("b", 100));
});

describe("inputs are counted", () => {
  test.each([
    ["of a text", "a", 1],
    ["of texts", ["a", "b", "c"], 3],
    ["of a list of tokens", [1, 2, 3], 1],
    ["of lists of tokens", [[1, 2], [3]], 2],
    ["of nothing", [], 1],
  ])("%s", (_name, input, count) => {
    expect(inputsOf(input)).toBe(count);
  });

  test.each([
    [1, 1],
    [2, 2],
    [3, 4],
    [2_000, 2_048],
    [2_048, 2_048],
  ])("and a request of %i waits among those of at most %i", (inputs, most) => {
    expect(laneInputs(inputs)).toBe(most);
  });
});

describe("a batch of requests of so many inputs takes so many", () => {
  const thresholds = { maxRequests: 50_000, maxBytes: 1e9, maxTokens: 1e9, maxAgeMs: 0 };
  test.each([
    [1, 50_000, 50_000],
    [16, 50_000, 3_125],
    [2_048, 50_000, 24],
    // A request of at most 2,000 inputs may be in this lane.
    [2_048, 2_000, 1],
    [2_048, undefined, 50_000],
  ])("%i at most, where %s are allowed: %i", (inputs, maxInputs, requests) => {
    const limits = { ...SIM_LIMITS, maxRequests: 100_000, ...(maxInputs === undefined ? {} : { maxInputs }) };
    expect(batchCaps(thresholds, limits, inputs).maxRequests).toBe(requests);
  });
});

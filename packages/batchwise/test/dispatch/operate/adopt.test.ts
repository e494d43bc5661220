// An operator names the provider's batch: through the official clients, with the right one and with
// wrong ones.

import { describe, expect, test } from "vitest";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import { anthropic, HOUR, MINUTE, openai, operatorWorld, requests, type Service } from "../support/operator-world.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, isAtRest, world } from "../support/world.ts";

/** Four requests whose create was accepted without an answer, while lists fail. */
async function unknown(service: Service) {
  const here = operatorWorld();
  const { create, list } = service.operations;
  here.fake.inject({ on: create, reply: "drop" });
  here.fake.inject({ on: list, times: 1_000, accept: false, reply: { status: 500 } });
  const dispatcher = await here.open(service.account(here.fake));
  await dispatcher.enqueueMany(requests(4));
  await here.pass(MINUTE);
  return { ...here, dispatcher, key: await onlyKey(dispatcher) };
}

/** Four requests whose batch the provider does not know for ten minutes. */
async function quarantined(service: Service) {
  const here = operatorWorld({ plan: { runMs: 2 * HOUR } });
  const dispatcher = await here.open(service.account(here.fake));
  await dispatcher.enqueueMany(requests(4));
  await here.pass(10 * MINUTE);
  const reads = ["batches.retrieve", "messages.retrieve"] as const;
  here.fake.inject({ on: reads, times: 1_000, accept: false, reply: { status: 404 } });
  await here.pass(HOUR);
  here.fake.heal();
  expect(await dispatcher.batches()).toMatchObject([{ state: "quarantined" }]);
  return { ...here, dispatcher, key: await onlyKey(dispatcher) };
}

async function onlyKey(dispatcher: Dispatcher): Promise<string> {
  const [batch] = await dispatcher.batches();
  return batch?.key as string;
}

const idOf = (views: readonly { readonly id: string; readonly foreign: boolean }[], foreign: boolean): string =>
  views.find((view) => view.foreign === foreign)?.id as string;

describe.each([openai, anthropic])("at $name", (service) => {
  test("a batch of unknown outcome continues with the one that is named, and nothing runs twice", async () => {
    const { dispatcher, key, fake, rest } = await unknown(service);
    expect(await dispatcher.batches()).toMatchObject([{ state: "unknown" }]);
    const id = idOf(fake.batches(), false);
    expect(await dispatcher.adopt(key, id)).toMatchObject({ key, state: "submitted", providerBatchId: id });
    await rest();
    expect((await dispatcher.result("r0")).status).toBe("succeeded");
    expect([...fake.runs().values()]).toEqual([1, 1, 1, 1]);
    await dispatcher.stop();
  });

  test("a quarantined batch continues with the one that is named, also from a process that runs no loops", async () => {
    const { dispatcher, key, fake, rest, store, time } = await quarantined(service);
    const { createDispatcher } = await import("../../../src/dispatch/dispatcher.ts");
    const operator = createDispatcher({ store, clock: { ...clockOf(time) }, accounts: [service.account(fake)] });
    await operator.adopt(key, idOf(fake.batches(), false));
    await rest();
    expect((await dispatcher.result("r0")).status).toBe("succeeded");
    expect([...fake.runs().values()]).toEqual([1, 1, 1, 1]);
    await operator.stop();
    await dispatcher.stop();
  });

  test("one with another number of lines, of a stranger, or of another batch of ours is refused, and nothing changes", async () => {
    const { dispatcher, key, fake, pass } = await quarantined(service);
    fake.addForeign({ requests: 3, surface: service === openai ? "openai" : "anthropic" });
    await dispatcher.enqueueMany(requests(4, {}, "other"));
    await pass(10 * MINUTE);
    const [other] = await dispatcher.batches();
    const before = await dispatcher.batches({ keys: [key] });
    const refused = (id: string) => expect(dispatcher.adopt(key, id)).rejects;
    await refused(idOf(fake.batches(), true)).toMatchObject({
      code: "ADOPTION_REFUSED",
      message: `Batch ${key} cannot adopt ${idOf(fake.batches(), true)}: it has 3 lines, and the batch has 4 requests.`,
    });
    await refused(other?.providerBatchId as string).toThrow(`it belongs to batch ${other?.key}`);
    await refused("batch_nobody").toMatchObject({ code: "NOT_FOUND" });
    await expect(dispatcher.adopt("nobody", "batch_1")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(dispatcher.adopt(other?.key as string, "batch_1")).rejects.toThrow(/is (submitted|running), and only/);
    await expect(dispatcher.adopt(key, "")).rejects.toMatchObject({ code: "INVALID_OPTION" });
    expect((await dispatcher.batches({ keys: [key] })).map(({ updatedAt, ...rest }) => rest)).toEqual(
      before.map(({ updatedAt, ...rest }) => rest),
    );
    await dispatcher.stop();
  });
});

test("at OpenAI, a stranger's batch of equal size is refused: it does not carry our tag", async () => {
  const { dispatcher, key, fake, pass } = await quarantined(openai);
  fake.addForeign({ requests: 4, surface: "openai" });
  await pass(10 * MINUTE);
  await expect(dispatcher.adopt(key, idOf(fake.batches(), true))).rejects.toThrow("does not carry the batch's tag");
  await dispatcher.stop();
});

test("at Anthropic, where no field distinguishes it from ours, its results do: the batch waits for an operator again", async () => {
  const { dispatcher, key, fake, pass, told, rest } = await quarantined(anthropic);
  fake.addForeign({ requests: 4, surface: "anthropic" });
  const wrong = idOf(fake.batches(), true);
  await dispatcher.adopt(key, wrong);
  await pass(12 * HOUR);
  const [batch] = await dispatcher.batches();
  expect(batch).toMatchObject({ state: "quarantined", remaining: 4, providerBatchId: null });
  expect(batch?.lastError?.code).toBe("adopted_by_mistake");
  expect(batch?.orphans.find(({ providerBatchId }) => providerBatchId === wrong)?.action).toBe("foreign");
  expect(told).toContain("ADOPTION_REFUSED");
  expect(fake.batches()).toHaveLength(2);

  await dispatcher.adopt(key, idOf(fake.batches(), false));
  await rest();
  expect((await dispatcher.result("r0")).status).toBe("succeeded");
  expect([...fake.runs().values()]).toEqual([1, 1, 1, 1]);
  await dispatcher.stop();
});

function clockOf(time: Awaited<ReturnType<typeof quarantined>>["time"]) {
  return {
    now: () => time.now(),
    monotonic: () => time.now(),
    setTimeout: (callback: () => void, delayMs: number) => time.setTimeout(callback, delayMs),
    clearTimeout: (handle: unknown) => time.clearTimeout(handle),
  };
}

test("where creates carry tokens, the batch of a create that is still repeated may be named for another by mistake", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const plain = sim.account({ tag: "idempotencyToken", maxInlineBytes: Number.POSITIVE_INFINITY });
  let isLost = true;
  const account: Account = {
    ...plain,
    // Creates of the first batch do not arrive; the second runs, and its answers are lost.
    create: async (input, call) => {
      if (isLost && (await input.firstBody()).includes("a0")) throw new Error("Not sent.");
      const seen = await plain.create(input, call);
      if (isLost) throw new Error("No answer.");
      return seen;
    },
  };
  const dispatcher = await here.start({ accounts: [account], thresholds: { maxRequests: 2, maxAgeMs: MINUTE } });
  await dispatcher.enqueueMany(["a0", "a1"].map((name) => ask(name)));
  await here.until(async () => (await dispatcher.batches({ states: ["unknown"] })).length === 1);
  const [first] = await dispatcher.batches();
  await dispatcher.enqueueMany(["b0", "b1"].map((name) => ask(name)));
  await here.until(async () => (await dispatcher.batches({ states: ["unknown"] })).length === 2);
  const named = sim.batches[0]?.id as string;
  await dispatcher.adopt(first?.key as string, named);
  isLost = false;
  await here.until(() => isAtRest(here.store, here.time.now()), 24 * HOUR);
  for (const id of ["a0", "a1", "b0", "b1"]) expect(await dispatcher.result(id)).toMatchObject({ status: "succeeded" });
  expect(Object.fromEntries(sim.successes())).toEqual({ a0: 1, a1: 1, b0: 1, b1: 1 });
  const owner = (await dispatcher.batches()).find(({ key }) => key !== first?.key);
  expect(owner?.providerBatchId).toBe(named);
  await dispatcher.stop();
});

// Paused accounts and lanes, through the official clients, with several dispatchers on one store:
// none sends anything new, running batches are collected, and the pause is durable.

import { describe, expect, test } from "vitest";
import { anthropic, HOUR, MINUTE, openai, operatorWorld, request, requests } from "../support/operator-world.ts";

const LANE = { endpoint: "/v1/chat/completions", model: "m" } as const;

describe.each([openai, anthropic])("at $name", (service) => {
  test("a paused account gets no new batches from any process, and its running ones are collected", async () => {
    const { open, fake, pass, rest } = operatorWorld({ plan: { runMs: HOUR } });
    const one = await open(service.account(fake));
    const two = await open(service.account(fake));
    await one.enqueueMany(requests(4));
    await pass(10 * MINUTE);
    expect(fake.batches()).toHaveLength(1);

    expect(await one.pauseAccount(service.account(fake).name, "new contract")).toBe(true);
    await two.enqueueMany(requests(8, {}, "later"));
    await pass(5 * HOUR);
    expect(fake.batches()).toHaveLength(1);
    expect((await two.result("r3")).status).toBe("succeeded");
    expect((await two.requests({ statuses: ["waiting"] })).requests).toHaveLength(8);

    expect(await two.resumeAccount(service.account(fake).name)).toBe(true);
    await rest();
    expect((await one.result("later7")).status).toBe("succeeded");
    expect([...fake.runs().values()]).toEqual(Array(12).fill(1));
    await one.stop();
    await two.stop();
  });

  test("a batch that was closed before the pause is not created during it, and in one piece afterwards", async () => {
    const { open, fake, pass, rest } = operatorWorld();
    const { create } = service.operations;
    fake.inject({ on: create, times: 1, accept: false, reply: { status: 429, headers: { "retry-after": "600" } } });
    const dispatcher = await open(service.account(fake));
    await dispatcher.enqueueMany(requests(4));
    await pass(10_000);
    expect(fake.calls(create)).toBe(1);
    await dispatcher.pauseAccount(service.account(fake).name);
    await pass(3 * HOUR);
    expect(fake.calls(create)).toBe(1);
    await dispatcher.resumeAccount(service.account(fake).name);
    await rest();
    expect(fake.batches()).toMatchObject([{ requests: 4 }]);
    await dispatcher.stop();
  });

  test("a create whose answer was lost is looked for during the pause, and a found batch is collected", async () => {
    const { open, fake, pass, rest } = operatorWorld();
    const { create, list } = service.operations;
    fake.inject({ on: create, reply: "drop" });
    fake.inject({ on: list, times: 2, accept: false, reply: { status: 500 } });
    const dispatcher = await open(service.account(fake));
    await dispatcher.enqueueMany(requests(4));
    await pass(1_000);
    await dispatcher.pauseAccount(service.account(fake).name);
    await rest();
    expect(fake.calls(create)).toBe(1);
    expect([...fake.runs().values()]).toEqual([1, 1, 1, 1]);
    await dispatcher.stop();
  });

  test("one that never arrived is not sent again during the pause, and does not keep other lanes", async () => {
    const { open, fake, pass, rest } = operatorWorld();
    const { create } = service.operations;
    fake.inject({ on: create, accept: false, reply: "drop" });
    const dispatcher = await open(service.account(fake));
    await dispatcher.enqueueMany(requests(4));
    await pass(1_000);
    await dispatcher.pauseLane(LANE);
    await pass(HOUR);
    expect(fake.calls(create)).toBe(1);
    await dispatcher.enqueueMany(["x0", "x1", "x2", "x3"].map((id) => request(id, {}, "other")));
    await pass(HOUR);
    expect((await dispatcher.result("x3")).status).toBe("succeeded");
    expect(fake.calls(create)).toBe(2);
    await dispatcher.resumeLane(LANE);
    await rest();
    expect([...fake.runs().values()]).toEqual(Array(8).fill(1));
    await dispatcher.stop();
  });
});

test("a pause survives a restart, and stats say which accounts and lanes are paused, since when and why", async () => {
  const { open, fake, pass, time } = operatorWorld();
  const first = await open(openai.account(fake));
  const since = time.now();
  await first.pauseAccount("openai", "invoice");
  await first.pauseLane(LANE);
  await first.stop();
  await pass(HOUR);
  const second = await open(openai.account(fake));
  await second.enqueueMany(requests(4));
  await pass(HOUR);
  expect(fake.batches()).toEqual([]);
  expect((await second.stats()).paused).toEqual({
    accounts: [{ name: "openai", since, reason: "invoice" }],
    lanes: [{ ...LANE, since, reason: null }],
  });
  expect(await second.pauseAccount("openai", "another reason")).toBe(false);
  expect((await second.stats()).paused.accounts).toMatchObject([{ since, reason: "invoice" }]);
  await second.stop();
});

test("a pause that comes during an upload still keeps the create back", async () => {
  const { open, fake, pass, rest } = operatorWorld();
  fake.inject({ on: "files.create", replyDelayMs: 30_000 });
  const dispatcher = await open(openai.account(fake));
  await dispatcher.enqueueMany(requests(4));
  await pass(10_000);
  expect(fake.calls("files.create")).toBe(1);
  await dispatcher.pauseAccount("openai");
  await pass(HOUR);
  expect(fake.calls("batches.create")).toBe(0);
  await dispatcher.resumeAccount("openai");
  await rest();
  expect([...fake.runs().values()]).toEqual([1, 1, 1, 1]);
  await dispatcher.stop();
});

test("a paused lane waits and the others of the account continue", async () => {
  const { open, fake, pass, told } = operatorWorld();
  const dispatcher = await open(openai.account(fake));
  await dispatcher.pauseLane(LANE);
  await dispatcher.enqueueMany([...requests(4), request("other", {}, "other")]);
  dispatcher.flush();
  await pass(5 * HOUR);
  expect((await dispatcher.result("other")).status).toBe("succeeded");
  expect((await dispatcher.stats()).lanes).toMatchObject([{ model: "m", waiting: 4 }]);
  expect(told).toEqual([]);
  await dispatcher.stop();
});

test("requests go to another account while theirs is paused, also those of a batch that was closed for it", async () => {
  const { open, fake, pass, rest } = operatorWorld();
  const accounts = [openai.account(fake, "a"), openai.account(fake, "b")];
  fake.inject({ on: "batches.create", accept: false, reply: { status: 429, headers: { "retry-after": "600" } } });
  const dispatcher = await open(accounts);
  await dispatcher.enqueueMany(requests(4));
  await pass(5_000);
  const [batch] = await dispatcher.batches();
  const name = batch?.account as string;
  await dispatcher.pauseAccount(name);
  await dispatcher.enqueueMany(requests(4, {}, "later"));
  await rest();
  const all = await dispatcher.batches();
  expect(all.filter((each) => each.account === name)).toHaveLength(1);
  expect(all).toHaveLength(3);
  expect(fake.batches()).toHaveLength(2);
  expect([...fake.runs().values()]).toEqual(Array(8).fill(1));
  await dispatcher.stop();
});

test("of several calls in one millisecond one has paused, and one has let it continue", async () => {
  const { open, fake } = operatorWorld();
  const processes = await Promise.all(["a", "b", "c"].map((owner) => open(openai.account(fake), { owner })));
  const [one] = processes as [(typeof processes)[number]];
  const trues = (answers: readonly boolean[]): number => answers.filter((answer) => answer).length;
  expect(trues(await Promise.all(processes.map((each) => each.pauseLane(LANE, "same"))))).toBe(1);
  expect(trues(await Promise.all([one.pauseLane(LANE, "same"), one.pauseLane(LANE, "same")]))).toBe(0);
  const paused = { lanes: [{ ...LANE, since: expect.any(Number), reason: "same" }], accounts: [] };
  expect((await one.stats()).paused).toEqual(paused);
  expect(trues(await Promise.all(processes.map((each) => each.resumeLane(LANE))))).toBe(1);
  expect((await one.stats()).paused).toEqual({ lanes: [], accounts: [] });
  expect(trues(await Promise.all([one.pauseLane(LANE), one.pauseLane(LANE)]))).toBe(1);
  expect(trues(await Promise.all([one.resumeLane(LANE), one.resumeLane(LANE)]))).toBe(1);
  for (const each of processes) await each.stop();
});

test("a request whose deadline passes during the pause expires unpaid", async () => {
  const { open, fake, time, rest } = operatorWorld();
  const dispatcher = await open(openai.account(fake));
  await dispatcher.pauseAccount("openai");
  await dispatcher.enqueue(request("late", { deadlineAt: time.now() + HOUR }));
  await rest();
  expect((await dispatcher.result("late")).error?.code).toBe("deadline_exceeded");
  expect(fake.batches()).toEqual([]);
  await dispatcher.stop();
});

test("a name that no account has is refused with those that there are, and so is a lane that none serves", async () => {
  const { open, fake } = operatorWorld();
  const accounts = [openai.account(fake, "a"), anthropic.account(fake, "b")];
  const dispatcher = await open(accounts);
  const unknown = { code: "INVALID_OPTION", message: 'There is no account "openai" here. The accounts are "a", "b".' };
  await expect(dispatcher.pauseAccount("openai")).rejects.toMatchObject(unknown);
  await expect(dispatcher.resumeAccount("openai")).rejects.toMatchObject(unknown);
  const nowhere = { endpoint: "/v1/chat" as "/v1/embeddings", model: "m" };
  await expect(dispatcher.pauseLane(nowhere)).rejects.toMatchObject({ code: "NO_ACCOUNT" });
  await expect(dispatcher.pauseLane("m" as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(dispatcher.pauseAccount("a", { reason: "x" } as never)).rejects.toThrow(
    "Expected `reason` to be a string",
  );
  expect(await dispatcher.resumeAccount("a")).toBe(false);
  expect(await dispatcher.resumeLane(LANE)).toBe(false);
  await dispatcher.stop();
});

// Batches of `batchFetch`: when they close, in which process, and how a store that is away delays
// that.

import { batchFetch, createDispatcher, DispatchError } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { drive } from "../../support/drive.ts";
import { chat, clientOf, questions, Rig } from "../../support/fetch-rig.ts";
import { START } from "../../support/world.ts";

/** A dispatcher on the same store that never starts. */
function withoutLoops(rig: Rig) {
  const client = new OpenAI({ apiKey: "account", baseURL: "http://fake.test/v1", fetch: rig.fake.fetch });
  const onError = (error: unknown): void => void rig.told.push(error as Error);
  const options = { store: rig.store, clock: rig.time, accounts: [openaiAccount({ client })], onError };
  const producer = createDispatcher(options);
  onTestFinished(() => producer.stop());
  return producer;
}

describe("batches of calls", () => {
  test("close when no new call comes, or after a minute; other lanes wait on", async () => {
    const rig = new Rig();
    const client = new OpenAI({ apiKey: "account", baseURL: "http://fake.test/v1", fetch: rig.fake.fetch });
    const dispatcher = await rig.start({ accounts: [openaiAccount({ client })] });
    await dispatcher.enqueue({ body: { model: "other", messages: [{ role: "user", content: "Wait." }] } });
    const door = clientOf(batchFetch(dispatcher));
    const calls: Promise<unknown>[] = [];
    for (const text of questions(40)) {
      calls.push(chat(door, text));
      await rig.time.advance(3_000);
    }
    await rig.answers(calls);
    const batches = await dispatcher.batches();
    expect(batches.map(({ model }) => model)).toEqual(["m", "m", "m"]);
    expect(batches.map(({ requests }) => requests).toSorted((a, b) => a - b)).toEqual([1, 19, 20]);
    expect((await dispatcher.stats()).lanes).toMatchObject([{ model: "other", waiting: 1 }]);
  });

  test("that are answered leave no timer behind when the dispatcher stops", async () => {
    const rig = new Rig();
    const dispatcher = await rig.start();
    const first = chat(clientOf(batchFetch(dispatcher, { flushAfterMs: 60 * 60_000 })), "Hi.");
    await rig.time.settle();
    dispatcher.flush();
    await rig.answers([first]);
    await dispatcher.stop();
    expect(rig.time.nextAt).toBe(Number.POSITIVE_INFINITY);
  });

  test("flush the loops of another process through the store, lane by lane", async () => {
    const rig = new Rig();
    await rig.start();
    const producer = withoutLoops(rig);
    const door = batchFetch(producer);
    const other = producer.enqueue({ body: { model: "m", input: "Hi." } });
    await rig.answers([chat(clientOf(door), "Hi."), chat(clientOf(door), "Ho.")]);
    expect(rig.time.now() - START).toBeLessThan(30 * 60_000);
    expect(rig.fake.runs().size).toBe(2);
    expect(await producer.requests({ ids: [(await other).id] })).toMatchObject({ requests: [{ status: "waiting" }] });
    expect(rig.told).toEqual([]);
  });

  test("flush them also through a store that is away at the first attempts", async () => {
    const rig = new Rig();
    await rig.start();
    const producer = withoutLoops(rig);
    const marks = rig.store.marks.bind(rig.store);
    let failures = 0;
    vi.spyOn(rig.store, "marks").mockImplementation(async (changes, now) => {
      const isFlush = changes.some(({ name }) => name.startsWith("flush "));
      failures += isFlush ? 1 : 0;
      if (isFlush && failures <= 6) throw new DispatchError("STORE_UNAVAILABLE", "The store is away.");
      return marks(changes, now);
    });
    await rig.answers([chat(clientOf(batchFetch(producer)), "Hi.")]);
    expect(rig.time.now() - START).toBeLessThan(30 * 60_000);
    expect(failures).toBe(7);
    expect(rig.told.length).toBeGreaterThan(0);
  });

  test("are sent by the first run of `runDue` after their flush, in any process", async () => {
    const rig = new Rig();
    chat(clientOf(batchFetch(withoutLoops(rig))), "Hi.").catch(() => {});
    await drive(rig.time, rig.fake, async () => rig.time.now() - START > 10_000);
    const cron = withoutLoops(rig);
    let report: unknown = null;
    cron.runDue({ maxMs: 60_000 }).then((due) => {
      report = due;
    });
    await drive(rig.time, rig.fake, async () => report !== null);
    expect(await cron.batches()).toMatchObject([{ state: "submitted", requests: 1 }]);
  });

  test("of a store that is gone answer 503 and may be repeated; of a stopped dispatcher not", async () => {
    const rig = new Rig();
    const dispatcher = await rig.start();
    const door = batchFetch(dispatcher);
    const init = { method: "POST", body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi." }] }) };
    const gone = new DispatchError("STORE_UNAVAILABLE", "The store does not answer.");
    const enqueue = vi.spyOn(rig.store, "enqueue").mockRejectedValue(gone);
    const unstored = await door("http://x.test/v1/chat/completions", init);
    expect([unstored.status, unstored.headers.get("x-should-retry")]).toEqual([503, null]);
    enqueue.mockRestore();
    await dispatcher.stop();
    const stopped = await door("http://x.test/v1/chat/completions", init);
    expect([stopped.status, stopped.headers.get("x-should-retry")]).toEqual([503, "false"]);
    expect(() => batchFetch({ ...dispatcher })).toThrow("a dispatcher of `createDispatcher`");
    expect(() => batchFetch(dispatcher, { stream: true } as never)).toThrow("it is `streams` here");
  });
});

import { createBatcher, createTokenBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { gate, reasonOf, watch } from "../support.ts";

describe("a handler in stages", () => {
  test("passes each stage's output on to the next", async () => {
    const batcher = createBatcher({
      prepareItem: (item: string) => item.length,
      prepare: (lengths: number[]) => ({ lengths }),
      run: async ({ lengths }: { lengths: number[] }) => ({ doubled: lengths.map((length) => length * 2) }),
      finish: ({ doubled }: { doubled: number[] }) => doubled.map((value) => `<${value}>`),
    });
    expect(await batcher.submitMany(["a", "bcd"])).toEqual(["<2>", "<6>"]);
  });

  test("prepares an item at its submit, on the caller's time", () => {
    const prepared: string[] = [];
    const batcher = createBatcher({
      prepareItem: (item: string) => {
        prepared.push(item);
        return item;
      },
      run: (items: string[]) => items,
    });
    void batcher.submit("a");
    expect(prepared).toEqual(["a"]);
  });

  test("rejects only an item that cannot be prepared", async () => {
    const batcher = createBatcher({
      prepareItem: (item: number) => {
        if (item === 2) throw new Error("unreadable");
        return item;
      },
      run: (items: number[]) => items,
    });
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(settled[1]).toEqual({ status: "rejected", reason: new Error("unreadable") });
    expect(batcher.stats()).toMatchObject({ completed: 2, failed: 1 });
  });

  test("gives every stage the same context", async () => {
    const ids: string[] = [];
    const batcher = createBatcher({
      prepare: (items: number[], { id }) => {
        ids.push(id);
        return items;
      },
      run: (items: number[], { id }) => {
        ids.push(id);
        return items;
      },
      finish: (items: number[], { id }) => {
        ids.push(id);
        return items;
      },
    });
    await batcher.submit(1);
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(1);
  });

  test.each(["prepare", "run", "finish"])("rejects the batch with the error of its %s", async (stage) => {
    const failing = (at: string) => (items: number[]) => {
      if (at === stage) throw new Error(`in ${at}`);
      return items;
    };
    const batcher = createBatcher({ prepare: failing("prepare"), run: failing("run"), finish: failing("finish") });
    expect(await reasonOf(batcher.submit(1))).toEqual(new Error(`in ${stage}`));
    expect(await reasonOf(batcher.submit(2))).toEqual(new Error(`in ${stage}`));
  });
});

describe("`open`", () => {
  test("runs once, before the first batch and not before it is needed", async () => {
    const log: string[] = [];
    const batcher = createBatcher(
      {
        open: async () => void log.push("open"),
        run: (items: number[]) => {
          log.push(`run ${items.join()}`);
          return items;
        },
      },
      { maxBatchSize: 1, concurrency: 2 },
    );
    expect(log).toEqual([]);
    await batcher.submitMany([1, 2, 3]);
    expect(log).toEqual(["open", "run 1", "run 2", "run 3"]);
  });

  test("that fails is the failure of the batches that waited for it, and is tried again for the next", async () => {
    let openings = 0;
    const batcher = createBatcher({
      open: () => {
        openings += 1;
        if (openings === 1) throw new Error("no model");
      },
      run: (items: number[]) => items,
    });
    expect(await reasonOf(batcher.submit(1))).toEqual(new Error("no model"));
    expect(await batcher.submit(2)).toBe(2);
    expect(await batcher.submit(3)).toBe(3);
    expect(openings).toBe(2);
  });

  test("is tried again for the same batch where `retry` says so", async () => {
    let openings = 0;
    const batcher = createBatcher(
      {
        open: () => {
          openings += 1;
          if (openings < 3) throw new Error("not yet");
        },
        run: (items: number[]) => items,
      },
      { retry: { attempts: 3 } },
    );
    expect(await batcher.submit(1)).toBe(1);
    expect(openings).toBe(3);
  });

  test("that takes long hands over no item whose caller has left by then", async () => {
    const clock = virtualClock();
    const opening = gate();
    const seen: number[][] = [];
    const batcher = createBatcher(
      {
        open: () => opening.promise,
        run: (items: number[]) => {
          seen.push(items);
          return items;
        },
      },
      { clock },
    );
    const expired = reasonOf(batcher.submit(1, { timeoutMs: 50 }));
    const answered = batcher.submit(2);
    await clock.advance(100);
    expect(await expired).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    opening.open();
    expect(await answered).toBe(2);
    expect(seen).toEqual([[2]]);
  });
});

describe("an `open` that hangs", () => {
  /** A batcher whose handler opens when the test lets it, and a log of the handler's calls. */
  function slowToOpen(closeHandler: () => PromiseLike<void> | void = () => {}) {
    const clock = virtualClock();
    const log: string[] = [];
    let [succeed, fail] = [() => {}, (_: Error) => {}];
    const open = (): Promise<void> => {
      log.push("open");
      return new Promise((resolve, reject) => {
        succeed = resolve;
        fail = reject;
      });
    };
    const close = (): PromiseLike<void> | void => {
      log.push("close");
      return closeHandler();
    };
    const run = (items: number[]): number[] => items;
    const batcher = createBatcher({ open, run, close }, { clock, maxBatchSize: 1 });
    return { clock, log, batcher, succeed: () => succeed(), fail: (error: Error) => fail(error) };
  }

  test("delays no close({ drain: false }): all waiting callers get CLOSED, and it resolves", async () => {
    const { clock, log, batcher } = slowToOpen();
    const fates = [watch(batcher.open()), watch(batcher.submit(1)), watch(batcher.submit(2))];
    await clock.settle();
    const closed = watch(batcher.close({ drain: false }));
    await clock.settle();
    expect(closed.state).toBe("fulfilled");
    for (const fate of fates) expect(fate).toMatchObject({ state: "rejected", reason: { code: "CLOSED" } });
    expect([log, clock.timers]).toEqual([["open"], 0]);
  });

  test("lets close({ drain: false }) cut short a close() that waits for it", async () => {
    const { clock, batcher } = slowToOpen();
    const opened = watch(batcher.open());
    await clock.settle();
    const closed = watch(batcher.close());
    await clock.settle();
    expect(closed.state).toBe("pending");
    void batcher.close({ drain: false });
    await clock.settle();
    expect([closed.state, opened.state]).toEqual(["fulfilled", "rejected"]);
  });

  test.each([
    ["ends well", () => {}],
    ["throws", () => Promise.reject(new Error("will not close"))],
  ])("is followed by `close`, once, where it succeeds after all, also where that %s", async (_, closeHandler) => {
    const { clock, log, batcher, succeed } = slowToOpen(closeHandler);
    batcher.submit(1).catch(() => {});
    await clock.settle();
    void batcher.close({ drain: false });
    // The handler opens in the same step in which it is abandoned: one `close` must follow, not
    // two.
    succeed();
    await clock.settle();
    await batcher.close({ drain: false });
    expect(log).toEqual(["open", "close"]);
  });

  test("is not followed by `close` where it fails after all, and nothing is left unhandled", async () => {
    const { clock, log, batcher, fail } = slowToOpen();
    batcher.submit(1).catch(() => {});
    await clock.settle();
    await batcher.close({ drain: false });
    fail(new Error("no model"));
    await clock.settle();
    expect(log).toEqual(["open"]);
  });

  test("is not begun by a batcher that was closed in the same step", async () => {
    const { clock, log, batcher } = slowToOpen();
    batcher.open().catch(() => {});
    await batcher.close({ drain: false });
    await clock.settle();
    expect(log).toEqual([]);
  });

  test("does not hold callers beyond their deadline or signal, while close() waits for it too", async () => {
    const { clock, batcher, succeed } = slowToOpen();
    const leave = new AbortController();
    const signal = watch(batcher.submit(1, { signal: leave.signal }));
    const first = watch(batcher.submit(2, { timeoutMs: 10 }));
    const closed = watch(batcher.close());
    await clock.advance(10);
    leave.abort(new Error("gone"));
    await clock.settle();
    expect(first).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    expect(signal).toMatchObject({ reason: new Error("gone") });
    expect(closed.state).toBe("pending");
    succeed();
    await clock.settle();
    expect(closed.state).toBe("fulfilled");
  });
});

describe("`close` of a handler", () => {
  test("runs once, after the last batch has been answered", async () => {
    const log: string[] = [];
    const batcher = createBatcher(
      {
        run: async (items: number[]) => {
          await null;
          log.push(`ran ${items.join()}`);
          return items;
        },
        close: async () => void log.push("close"),
      },
      { maxBatchSize: 1 },
    );
    void batcher.submitMany([1, 2]);
    await Promise.all([batcher.close(), batcher.close()]);
    expect(log).toEqual(["ran 1", "ran 2", "close"]);
  });

  test("does not run for a handler that was never opened", async () => {
    const log: string[] = [];
    await createBatcher({
      open: () => void log.push("open"),
      run: (items: number[]) => items,
      close: () => void log.push("close"),
    }).close();
    expect(log).toEqual([]);
  });

  test("waits for an opening that is under way, so that nothing stays open", async () => {
    const log: string[] = [];
    const opening = gate();
    const batcher = createBatcher({
      open: () => opening.promise.then(() => void log.push("opened")),
      run: (items: number[]) => items,
      close: () => void log.push("closed"),
    });
    const answer = batcher.submit(1);
    await new Promise(setImmediate);
    const closed = batcher.close();
    opening.open();
    await closed;
    expect(await answer).toBe(1);
    expect(log).toEqual(["opened", "closed"]);
  });

  test("is the failure of close() when it fails", async () => {
    const batcher = createBatcher({
      run: (items: number[]) => items,
      close: () => Promise.reject(new Error("will not close")),
    });
    expect(await batcher.submit(1)).toBe(1);
    expect(await reasonOf(batcher.close())).toEqual(new Error("will not close"));
    expect(batcher.closed).toBe(true);
  });
});

describe("`defaults` of a handler", () => {
  const run = (items: number[]): number[] => items;

  test("hold where the options do not say, and `order` not beside a cost", () => {
    const defaults = { concurrency: 3, maxBatchSize: 7, order: "length" } as const;
    const { options } = createBatcher({ run, defaults });
    expect(options).toMatchObject({ concurrency: 3, maxBatchSize: 7, preferredBatchSize: 7, order: "length" });
    const mine = createBatcher({ run, defaults }, { concurrency: undefined, maxBatchSize: 8, cost: (item) => item });
    expect(mine.options).toMatchObject({ concurrency: 3, maxBatchSize: 8, order: "fifo" });
    expect(createTokenBatcher({ run, defaults }).options).toMatchObject({ concurrency: 3, maxBatchSize: 256 });
  });

  test("are checked as options are; any other value or property of that name is the handler's own", () => {
    expect(() => createBatcher({ run, defaults: { concurrency: 0 } })).toThrow("Expected `concurrency` to be");
    expect(() => createBatcher({ run, defaults: { concurrency: 2 } }, 5 as never)).toThrow("`options`");
    for (const defaults of [5, null, { model: "small" }] as never[]) {
      expect(createBatcher({ run, defaults }).options.concurrency).toBe(1);
    }
  });
});

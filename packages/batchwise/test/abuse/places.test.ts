import { createBatcher } from "batchwise";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { gate, rig, watch } from "../support.ts";
import { revoked, thenable, trapped, unreadable } from "./objects.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));
afterEach(async () => {
  await new Promise(setImmediate);
  expect(unhandled.splice(0)).toEqual([]);
});

const no = new Error("no");
const throwing = (): never => {
  throw no;
};
const later = async (): Promise<never> => {
  await new Promise(setImmediate);
  throw no;
};
const own = (then: (...args: never[]) => unknown): Promise<number> => Object.assign(Promise.resolve(2), { then });

/** Values of the second of three places, and the outcome of its caller. */
const places: Readonly<Record<string, [place: () => unknown, outcome: "fulfilled" | "rejected"]>> = {
  "a promise with a then of its own that throws": [() => own(throwing), "fulfilled"],
  "a promise with a then of its own that returns nothing": [() => own(() => undefined), "fulfilled"],
  "a promise with a then of its own that calls back at once": [
    () => own((resolve: (value: number) => void) => resolve(2)),
    "fulfilled",
  ],
  "a promise of a class of its own whose then throws": [
    () =>
      new (class extends Promise<number> {
        // biome-ignore lint/suspicious/noThenProperty: that is what is tested
        override then(): never {
          throw no;
        }
      })(() => {}),
    "rejected",
  ],
  "a thenable that settles twice": [
    () =>
      thenable((resolve, reject) => {
        resolve(2);
        resolve(3);
        reject(no);
      }),
    "fulfilled",
  ],
  "a thenable that settles and throws": [
    () =>
      thenable((resolve) => {
        resolve(2);
        throw no;
      }),
    "fulfilled",
  ],
  "a thenable of a thenable that throws": [() => thenable((resolve) => resolve(thenable(throwing))), "rejected"],
  "a thenable of a revoked proxy": [() => thenable((resolve) => resolve(revoked({}))), "rejected"],
  "a promise that resolves later to a proxy that throws": [async () => trapped("getPrototypeOf", {}), "rejected"],
  "a promise that rejects later": [later, "rejected"],
  "a promise that rejects with a revoked proxy": [() => Promise.reject(revoked({})), "rejected"],
  "an object whose then throws": [() => unreadable(), "rejected"],
  "an array that is revoked": [() => revoked([]), "rejected"],
};

describe("a place that plays tricks", () => {
  test.each(Object.keys(places))("rejects only its caller, and the slot is freed: %s", async (name) => {
    const [place, outcome] = places[name] as [() => unknown, string];
    for (const isolateFailures of [false, true]) {
      const batcher = createBatcher(
        (items: number[]) => items.map((item) => (item === 2 ? (place() as number) : Promise.resolve(item))),
        { isolateFailures },
      );
      const settled = await batcher.submitSettled([1, 2, 3]);
      expect(settled.map(({ status }) => status)).toEqual(["fulfilled", outcome, "fulfilled"]);
      expect(await batcher.submit(4)).toBe(4);
      expect(batcher.stats()).toMatchObject({ submitted: 4, running: 0, runningBatches: 0 });
      await batcher.close();
    }
  });

  test("frees the slot when it never settles and the time of the handler is up", async () => {
    const of = rig<number>();
    const batcher = createBatcher((items: number[]) => items.map(() => thenable(() => {}) as never), {
      clock: of.clock,
      handlerTimeoutMs: 10,
    });
    const first = watch(batcher.submit(1));
    const second = watch(batcher.submit(2, { timeoutMs: 5 }));
    await of.clock.advance(10);
    expect(first).toMatchObject({ reason: { code: "HANDLER_TIMEOUT" } });
    expect(second).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    expect(batcher.stats()).toMatchObject({ running: 0, runningBatches: 0 });
    await batcher.close();
  });

  test("may send its own caller, or all, away while it is read", async () => {
    for (const act of ["abort", "close"]) {
      const leave = new AbortController();
      const batcher = createBatcher((items: number[]) =>
        Object.defineProperty([...items], 1, {
          get: () => {
            if (act === "abort") leave.abort(no);
            else void batcher.close({ drain: false });
            return later();
          },
        }),
      );
      const answers = await Promise.allSettled([1, 2, 3].map((item) => batcher.submit(item, { signal: leave.signal })));
      expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
      await batcher.close();
      expect(batcher.stats().running).toBe(0);
    }
  });
});

/** Invalid answers with places that reject later. */
const answers: Readonly<Record<string, () => unknown>> = {
  "too short": () => [later(), later()],
  "too long": () => [later(), later(), later(), later()],
  "a proxy whose length throws": () =>
    new Proxy([later(), later()], { get: (target, key) => (key === "length" ? throwing() : Reflect.get(target, key)) }),
  "a proxy that throws whatever is read": () => trapped("get", []),
  "a proxy whose length lies": () =>
    new Proxy([later(), later()], { get: (target, key) => (key === "length" ? 7 : Reflect.get(target, key)) }),
  "a proxy whose length changes": () => {
    let reads = 0;
    return new Proxy([1, 2, 3], {
      get: (target, key) => {
        if (key !== "length") return Reflect.get(target, key);
        reads += 1;
        return reads > 1 ? throwing() : 4;
      },
    });
  },
  "a promise of too few": async () => [later()],
  "a revoked proxy": () => revoked([]),
  "an array with a getter that throws among them": () =>
    Object.defineProperty([later(), later(), later(), later()], 5, { get: throwing, enumerable: true }),
};

describe("an answer that cannot be used", () => {
  test.each(Object.keys(answers))("rejects all, frees the slot and causes no unhandled rejection: %s", async (name) => {
    let calls = 0;
    const batcher = createBatcher((items: number[]) => {
      calls += 1;
      return (calls === 1 ? (answers[name] as () => unknown)() : items) as number[];
    });
    const settled = await batcher.submitSettled([1, 2, 3]);
    for (const one of settled) {
      expect(one.status).toBe("rejected");
      // An answer that cannot be checked for a `then` fails like a handler that throws.
      if (!/revoked|whatever/.test(name)) expect(one).toMatchObject({ reason: { code: "BATCH_RESULT" } });
    }
    expect(await batcher.submitMany([4, 5])).toEqual([4, 5]);
    await new Promise(setImmediate);
    expect(batcher.stats()).toMatchObject({ failed: 3, completed: 2, running: 0 });
    await batcher.close();
  });

  test("causes no unhandled rejection after the time limit, after all callers have left, or after the end", async () => {
    const of = rig<number>();
    for (const end of ["time limit", "signal", "close"]) {
      const answer = gate();
      const leave = new AbortController();
      const batcher = createBatcher(
        async (items: number[]) => {
          await answer.promise;
          return items.map(later);
        },
        { clock: of.clock, handlerTimeoutMs: 50 },
      );
      const gone = watch(batcher.submit(1, { signal: leave.signal }));
      await of.clock.settle();
      if (end === "signal") leave.abort(no);
      else if (end === "close") void batcher.close({ drain: false });
      else await of.clock.advance(50);
      answer.open();
      await of.clock.advance(100);
      await new Promise(setImmediate);
      expect(gone.state).toBe("rejected");
      expect(batcher.stats().running).toBe(0);
    }
  });
});

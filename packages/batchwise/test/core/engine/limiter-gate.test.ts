import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LimiterAnswer, LimiterClient, RateLimiter } from "../../../src/core/contract/limiter.ts";
import { LimiterGate } from "../../../src/core/engine/limiter-gate.ts";
import { type ServicesKit, servicesKit } from "../support/services.ts";

type Reserved = LimiterAnswer | PromiseLike<LimiterAnswer>;

/** A limiter that answers as it is told, and notes what it is asked. */
class Scripted implements RateLimiter {
  readonly calls: string[] = [];
  answer: (client: LimiterClient, cost: number) => Reserved = (_client, cost) => ({ granted: true, cost });
  /** What has been granted and neither used nor given back. */
  calledFor = 0;
  cost = 0;

  reserve(client: LimiterClient, cost: number): Reserved {
    this.calls.push(`reserve ${cost}`);
    const answer = this.answer(client, cost);
    if ("granted" in answer && answer.granted) {
      this.calledFor += 1;
      this.cost += answer.cost;
    }
    return answer;
  }

  giveBack(calls: number, cost: number): void {
    this.calls.push(`giveBack ${calls} ${cost}`);
    this.calledFor -= calls;
    this.cost -= cost;
  }

  withdraw(): void {
    this.calls.push("withdraw");
  }

  hold(): void {}
}

interface Kit extends ServicesKit {
  readonly limiter: Scripted;
  readonly gate: LimiterGate;
  readonly asked: () => number;
}

function kitOf(limiter: Scripted = new Scripted()): Kit {
  const kit = servicesKit();
  let asked = 0;
  const gate = new LimiterGate(limiter, kit.services, () => {
    asked += 1;
  });
  return { ...kit, limiter, gate, asked: () => asked };
}

const wait: LimiterAnswer = { granted: false };

describe("a gate to a limiter", () => {
  test("keeps what is granted until it is used, and gives back what was not needed", () => {
    const { gate, limiter } = kitOf();
    expect([gate.ask(10), gate.ask(12)]).toEqual([10, 10]);
    gate.use(7);
    expect(limiter.calls).toEqual(["reserve 10", "giveBack 0 3"]);
    gate.ask(5);
    gate.use(5);
    expect(limiter.calls).toEqual(["reserve 10", "giveBack 0 3", "reserve 5"]);
  });

  test("takes a debt where one item costs more than was granted", () => {
    const { gate, limiter } = kitOf();
    limiter.answer = () => ({ granted: true, cost: 4 });
    expect(gate.ask(10)).toBe(4);
    gate.use(10);
    expect(limiter.calls).toEqual(["reserve 10", "giveBack 0 -6"]);
  });

  test("gives back a grant for which there is nothing to call, and withdraws where it waits, once", () => {
    const { gate, limiter } = kitOf();
    gate.ask(10);
    gate.withdraw();
    gate.withdraw();
    limiter.answer = () => wait;
    expect(gate.ask(3)).toBeNull();
    gate.withdraw();
    gate.withdraw();
    expect(limiter.calls).toEqual(["reserve 10", "giveBack 1 10", "reserve 3", "withdraw"]);
  });

  test("asks again when the limiter says so", () => {
    const { gate, limiter, asked } = kitOf();
    limiter.answer = () => wait;
    gate.ask(3);
    gate.retry();
    expect(asked()).toBe(1);
    limiter.answer = (_client, cost) => ({ granted: true, cost });
    expect(gate.ask(8)).toBe(8);
  });

  test("accounts for all that was granted, whatever is asked, used, withdrawn and closed", () => {
    const step = fc.oneof(
      fc.record({ ask: fc.nat(9), grants: fc.option(fc.nat(9), { nil: undefined }) }),
      fc.record({ use: fc.nat(9) }),
      fc.constant("withdraw" as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
        const { gate, limiter, clock } = kitOf();
        let [calls, cost] = [0, 0];
        for (const next of steps) {
          if (next === "withdraw") {
            gate.withdraw();
          } else if ("use" in next) {
            limiter.answer = () => wait;
            if (gate.ask(1) === null) continue;
            gate.use(next.use);
            calls += 1;
            cost += next.use;
          } else {
            limiter.answer = () => (next.grants === undefined ? wait : { granted: true, cost: next.grants });
            gate.ask(next.ask);
          }
        }
        gate.close();
        expect([limiter.calledFor, limiter.cost, clock.timers]).toEqual([calls, cost, 0]);
      }),
    );
  });
});

describe("a limiter that answers late", () => {
  test("is asked once, and its answer is told", async () => {
    const { gate, limiter, clock, asked } = kitOf();
    limiter.answer = (_client, cost) => Promise.resolve({ granted: true, cost });
    expect([gate.ask(4), gate.ask(5)]).toEqual([null, null]);
    await clock.settle();
    expect(asked()).toBe(1);
    expect([gate.ask(6), limiter.calls]).toEqual([4, ["reserve 4"]]);
  });

  test("gets back what it grants after all has gone", async () => {
    const { gate, limiter, clock } = kitOf();
    limiter.answer = (_client, cost) => Promise.resolve({ granted: true, cost });
    gate.ask(4);
    gate.withdraw();
    await clock.settle();
    gate.withdraw();
    expect(limiter.calls).toEqual(["reserve 4", "giveBack 1 4"]);
  });
});

describe("a limiter that fails", () => {
  const failures: Record<string, (limiter: Scripted) => void> = {
    throws: (limiter) => {
      limiter.answer = () => {
        throw new Error("down");
      };
    },
    rejects: (limiter) => {
      limiter.answer = () => Promise.reject(new Error("down"));
    },
    "grants no number": (limiter) => {
      limiter.answer = () => ({ granted: true, cost: Number.NaN });
    },
    "answers nothing": (limiter) => {
      limiter.answer = () => Promise.resolve(undefined as never);
    },
  };

  test.each(Object.keys(failures))("as it %s is asked again in a second, with a warning", async (how) => {
    const { gate, limiter, clock, asked, warnings } = kitOf();
    failures[how]?.(limiter);
    expect(gate.ask(1)).toBeNull();
    await clock.advance(999);
    const before = asked();
    expect(gate.ask(1)).toBeNull();
    expect(limiter.calls).toHaveLength(1);
    await clock.advance(1);
    expect(asked()).toBe(before + 1);
    limiter.answer = (_client, cost) => ({ granted: true, cost });
    expect(gate.ask(2)).toBe(2);
    expect(warnings.map(({ code }) => code)).toEqual(["LIMITER_FAILED"]);
  });

  test.each(["giveBack", "withdraw"] as const)(
    "in %s, by throwing or by rejecting, disturbs nobody",
    async (method) => {
      for (const fails of [() => Promise.reject(new Error("down")), throwing]) {
        const { gate, limiter, clock, warnings } = kitOf();
        Object.assign(limiter, { [method]: fails });
        if (method === "withdraw") limiter.answer = () => wait;
        gate.ask(5);
        gate.withdraw();
        await clock.settle();
        expect(warnings.map(({ code }) => code)).toEqual(["LIMITER_FAILED"]);
        await clock.advance(1_000);
        gate.close();
        expect(clock.timers).toBe(0);
      }
    },
  );
});

function throwing(): never {
  throw new Error("down");
}

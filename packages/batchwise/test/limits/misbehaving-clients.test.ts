import { type LimiterClient, type RateLimiter, rateLimiter } from "batchwise";
import { describe, expect, test } from "vitest";
import { ask, granted, type Note, NotingClient, type StepClock, stepClock } from "./kit.ts";

interface Rig {
  readonly clock: StepClock;
  readonly limiter: RateLimiter;
  readonly notes: Note[];
  readonly client: (name: string, cost?: number) => NotingClient;
  readonly names: () => string[];
}

/** One call a second; the first one is gone. */
function rig(): Rig {
  const clock = stepClock();
  const limiter = rateLimiter({ callsPerMinute: 60, clock });
  const notes: Note[] = [];
  ask(limiter, { retry: () => {} }, 0);
  return {
    clock,
    limiter,
    notes,
    client: (name, cost = 0) => new NotingClient(name, cost, { limiter, clock, notes }),
    names: () => notes.map(({ name }) => name),
  };
}

describe("a `retry` that", () => {
  test("throws costs only its client the place", () => {
    const { clock, client, limiter, names } = rig();
    const throwing: LimiterClient = {
      retry: () => {
        throw new Error("broken");
      },
    };
    ask(limiter, throwing, 0);
    client("a").ask();
    client("b").ask();
    clock.advance(1_000);
    expect(names()).toEqual(["a"]);
    clock.advance(1_000);
    expect(names()).toEqual(["a", "b"]);
    expect(clock.timers).toBe(0);
  });

  test("throws after it was granted keeps the grant", () => {
    const { clock, client, limiter, names } = rig();
    let cost: number | undefined;
    const throwing: LimiterClient = {
      retry: () => {
        cost = granted(ask(limiter, throwing, 7));
        throw new Error("broken");
      },
    };
    ask(limiter, throwing, 7);
    client("a").ask();
    clock.advance(1_000);
    expect(cost).toBe(7);
    expect(names()).toEqual([]);
    clock.advance(1_000);
    expect(names()).toEqual(["a"]);
  });

  test("neither requests again nor withdraws waits no longer", () => {
    const { clock, client, limiter, names } = rig();
    ask(limiter, { retry: () => {} }, 0);
    client("a").ask();
    clock.advance(1_000);
    expect(names()).toEqual(["a"]);
    expect(clock.timers).toBe(0);
  });

  test("withdraws gives the turn to the next one in the same step", () => {
    const { clock, client, limiter, names } = rig();
    const leaving: LimiterClient = { retry: () => limiter.withdraw(leaving) };
    ask(limiter, leaving, 0);
    client("a").ask();
    clock.advance(1_000);
    expect(names()).toEqual(["a"]);
  });

  test("withdraws and requests again goes to the end", () => {
    const { clock, client, limiter, names } = rig();
    const second = client("second thoughts");
    let hasThought = false;
    const wavering: LimiterClient = {
      retry: () => {
        limiter.withdraw(wavering);
        if (!hasThought) ask(limiter, wavering, 0);
        else second.ask();
        hasThought = true;
      },
    };
    ask(limiter, wavering, 0);
    client("a").ask();
    clock.advance(1_000);
    expect(names()).toEqual(["a"]);
    clock.advance(1_000);
    expect(names()).toEqual(["a", "second thoughts"]);
  });

  test("requests more after it was granted goes to the end for that", () => {
    const { clock, client, limiter, notes, names } = rig();
    const greedy = client("greedy");
    greedy.retry = () => {
      if (greedy.ask()) greedy.ask();
    };
    greedy.ask();
    client("a").ask();
    clock.advance(3_000);
    expect(names()).toEqual(["greedy", "a", "greedy"]);
    expect(notes.map(({ at }) => at)).toEqual([1_000, 2_000, 3_000]);
    limiter.withdraw(greedy);
    expect(clock.timers).toBe(0);
  });

  test("withdraws others takes them out of the order", () => {
    const { clock, client, limiter, names } = rig();
    const other = client("other");
    const first = client("first");
    first.retry = () => {
      limiter.withdraw(other);
      first.ask();
    };
    first.ask();
    other.ask();
    client("last").ask();
    clock.advance(2_000);
    expect(names()).toEqual(["first", "last"]);
  });

  test("holds the limiter stops those behind it, and keeps their order", () => {
    const clock = stepClock();
    const limiter = rateLimiter({ callsPerMinute: 120, clock });
    const notes: Note[] = [];
    const of = { limiter, clock, notes };
    const first = new NotingClient("first", 0, of);
    first.retry = () => {
      first.ask();
      limiter.hold(5_000);
    };
    limiter.hold(1_000);
    for (const client of [first, new NotingClient("a", 0, of), new NotingClient("b", 0, of)]) client.ask();
    clock.advance(1_000);
    expect(notes.map(({ name }) => name)).toEqual(["first"]);
    clock.advance(4_999);
    expect(notes).toHaveLength(1);
    clock.advance(1);
    expect(notes.map(({ name }) => name)).toEqual(["first", "a", "b"]);
  });

  test("withdraws and requests again without end is called at most once a millisecond", () => {
    const { clock, limiter } = rig();
    const loops = [0, 1, 2].map(() => {
      const client: LimiterClient & { turns: number } = {
        turns: 0,
        retry: () => {
          client.turns += 1;
          limiter.withdraw(client);
          ask(limiter, client, 0);
        },
      };
      return client;
    });
    for (const client of loops) ask(limiter, client, 0);
    let steps = 0;
    while (clock.timers > 0 && steps < 50) {
      steps += 1;
      clock.advance(100);
    }
    expect(Math.max(...loops.map(({ turns }) => turns))).toBeLessThanOrEqual(5_000);
    for (const client of loops) limiter.withdraw(client);
    expect(clock.timers).toBe(0);
  });

  test("requests for others puts them behind the waiting clients", () => {
    const { clock, client, names } = rig();
    const late = client("late");
    const first = client("first");
    first.retry = () => {
      late.ask();
      first.ask();
    };
    first.ask();
    client("second").ask();
    clock.advance(3_000);
    expect(names()).toEqual(["first", "second", "late"]);
  });
});

describe("a limiter", () => {
  test("never calls `retry` from inside one of its methods", () => {
    const clock = stepClock();
    const limiter = rateLimiter({ callsPerMinute: 60, costPerMinute: 60_000, clock });
    const first = { retry: () => {} };
    let isInside = false;
    let calledInside = 0;
    let called = 0;
    const inside = (callback: () => void): void => {
      isInside = true;
      callback();
      isInside = false;
    };
    const client: LimiterClient = {
      retry: () => {
        called += 1;
        if (isInside) calledInside += 1;
        limiter.withdraw(client);
      },
    };
    ask(limiter, first, 1_000);
    ask(limiter, { retry: () => {} }, 10);
    ask(limiter, client, 10);
    inside(() => limiter.giveBack(1, 1_000));
    inside(() => limiter.withdraw(first));
    inside(() => limiter.hold(1));
    inside(() => ask(limiter, first, 0));
    clock.advance(2_000);
    expect(called).toBe(1);
    expect(calledInside).toBe(0);
  });
});

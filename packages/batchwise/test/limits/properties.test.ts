import { rateLimiter } from "batchwise";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ask, granted, type StepClock, stepClock } from "./kit.ts";

/** What a script may do. `client` is a number of a client. */
type Step =
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "ask"; readonly client: number; readonly cost: number; readonly used: number }
  | { readonly kind: "withdraw"; readonly client: number }
  | { readonly kind: "visit"; readonly cost: number }
  | { readonly kind: "hold"; readonly ms: number };

const CLIENTS = 6;
const client = fc.nat(CLIENTS - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 700 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      client,
      cost: fc.double({ min: 0, max: 5_000, noNaN: true }),
      used: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("withdraw" as const), client }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("hold" as const), ms: fc.integer({ min: 0, max: 900 }) }) },
);

const rates = fc.record({
  callsPerMinute: fc.double({ min: 10, max: 3_000, noNaN: true }),
  costPerMinute: fc.double({ min: 1_000, max: 300_000, noNaN: true }),
  burstMs: fc.integer({ min: 1, max: 5_000 }),
});

interface Use {
  readonly at: number;
  calls: number;
  cost: number;
}

interface World {
  readonly clock: StepClock;
  readonly uses: Use[];
  /** The clients that wait, in the order in which they asked. */
  readonly order: number[];
  /** Grants of a client while another had asked before it. */
  readonly overtakings: string[];
  run(steps: readonly Step[]): void;
}

interface Question {
  cost: number;
  used: number;
}

function world(limits: { callsPerMinute: number; costPerMinute: number; burstMs: number }): World {
  const clock = stepClock();
  const limiter = rateLimiter({ ...limits, clock });
  const uses: Use[] = [];
  const order: number[] = [];
  const overtakings: string[] = [];
  const questions = new Map<number, Question>();
  const clients = Array.from({ length: CLIENTS }, (_, index) => ({ retry: () => askAs(index) }));
  const askAs = (index: number): void => {
    const question = questions.get(index) as Question;
    if (!order.includes(index)) order.push(index);
    const cost = granted(ask(limiter, clients[index] as { retry(): void }, question.cost));
    if (cost === undefined) return;
    if (order[0] !== index) overtakings.push(`${index} before ${order[0]} at ${clock.now()}`);
    order.splice(order.indexOf(index), 1);
    const left = cost * (1 - question.used);
    limiter.giveBack(0, left);
    uses.push({ at: clock.now(), calls: 1, cost: cost - left });
  };
  /** A client that asks, and at once gives everything back or withdraws. */
  const visit = (cost: number): void => {
    const visitor = { retry: () => {} };
    const given = granted(ask(limiter, visitor, cost));
    if (given === undefined) limiter.withdraw(visitor);
    else limiter.giveBack(1, given);
  };
  const run = (steps: readonly Step[]): void => {
    for (const one of steps) {
      if (one.kind === "wait") clock.advance(one.ms);
      else if (one.kind === "hold") limiter.hold(one.ms);
      else if (one.kind === "visit") visit(one.cost);
      else if (one.kind === "ask") {
        questions.set(one.client, { cost: one.cost, used: one.used });
        askAs(one.client);
      } else {
        limiter.withdraw(clients[one.client] as { retry(): void });
        if (order.includes(one.client)) order.splice(order.indexOf(one.client), 1);
      }
    }
  };
  return { clock, uses, order, overtakings, run };
}

describe("whatever clients do,", () => {
  const steps = fc.array(step, { maxLength: 120 });

  test("no window of time is granted more than its rate and one full bucket", () => {
    fc.assert(
      fc.property(rates, steps, (limits, script) => {
        const { uses, run, clock } = world(limits);
        run(script);
        clock.advance(10_000);
        const callsPerMs = limits.callsPerMinute / 60_000;
        const costPerMs = limits.costPerMinute / 60_000;
        for (const [from, first] of uses.entries()) {
          let [calls, cost] = [0, 0];
          for (const use of uses.slice(from)) {
            calls += use.calls;
            cost += use.cost;
            const windowMs = use.at - first.at;
            expect(calls).toBeLessThanOrEqual(
              (callsPerMs * windowMs + Math.max(1, callsPerMs * limits.burstMs)) * (1 + 1e-6),
            );
            expect(cost).toBeLessThanOrEqual(costPerMs * (windowMs + limits.burstMs) * (1 + 1e-6));
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test("clients are served in the order of their requests", () => {
    fc.assert(
      fc.property(rates, steps, (limits, script) => {
        const { overtakings, run, clock } = world(limits);
        run(script);
        clock.advance(100_000);
        expect(overtakings).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  test("every waiting client is served, and no timer remains then", () => {
    fc.assert(
      fc.property(rates, steps, (limits, script) => {
        const { order, run, clock } = world(limits);
        run(script);
        // One call each, a full bucket each, and the longest hold.
        const perClientMs = 60_000 / limits.callsPerMinute + limits.burstMs + 1;
        clock.advance((CLIENTS + 1) * perClientMs + 1_000);
        expect(order).toEqual([]);
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  test("a client that waits is served as soon as its cost is there or the bucket is full", () => {
    const costs = fc.array(fc.double({ min: 1, max: 3_000, noNaN: true }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(rates, costs, ({ costPerMinute, burstMs }, asked) => {
        const clock = stepClock();
        const limiter = rateLimiter({ costPerMinute, burstMs, clock });
        const perMs = costPerMinute / 60_000;
        const capacity = perMs * burstMs;
        let [level, at] = [capacity, 0];
        for (const cost of asked) {
          const due = at + Math.max(0, Math.ceil((Math.min(cost, capacity) - level) / perMs - 1e-6));
          level = Math.min(capacity, level + (due - at) * perMs) - Math.min(cost, capacity);
          at = due;
          let grantedAt: number | undefined;
          const client = {
            retry: () => {
              if (ask(limiter, client, cost).granted) grantedAt = clock.now();
            },
          };
          client.retry();
          while (grantedAt === undefined) clock.advance(1);
          expect(grantedAt).toBe(due);
        }
      }),
      { numRuns: 50 },
    );
  });

  test("a reservation that is given back whole, or withdrawn, changes nothing for the others", () => {
    const visits = fc.array(fc.double({ min: 0, max: 5_000, noNaN: true }), { minLength: 120, maxLength: 120 });
    fc.assert(
      fc.property(rates, steps, visits, (limits, script, costs) => {
        const alone = world(limits);
        alone.run(script);
        const visited = world(limits);
        visited.run(script.flatMap((one, index) => [one, { kind: "visit", cost: costs[index] as number }]));
        expect(visited.uses.map(({ at }) => at)).toEqual(alone.uses.map(({ at }) => at));
        expect(visited.order).toEqual(alone.order);
      }),
      { numRuns: 200 },
    );
  });
});

describe("over an hour at 20,000 tokens a second", () => {
  test.each([
    ["batches of any size", 1, 20_000],
    ["batches of about a full bucket", 19_000, 21_000],
    ["batches larger than a full bucket", 25_000, 90_000],
    ["small batches", 100, 900],
  ])("at least 99.9 %% of it is given in %s, and never more than it and one bucket", (_title, least, most) => {
    const clock = stepClock(1_234.567);
    const limiter = rateLimiter({ costPerMinute: 1_200_000, clock });
    const random = seeded(7);
    let used = 0;
    const next = { cost: 0 };
    const client = {
      retry: () => {
        for (let cost = granted(ask(limiter, client, next.cost)); cost !== undefined; ) {
          used += cost;
          next.cost = least + Math.floor(random() * (most - least));
          cost = granted(ask(limiter, client, next.cost));
        }
      },
    };
    next.cost = least;
    client.retry();
    clock.advance(3_600_000);
    const limit = 20_000 * 3_600;
    expect(used).toBeGreaterThanOrEqual(limit * 0.999);
    expect(used).toBeLessThanOrEqual(limit + 20_000);
  });
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

// Batches that are not accepted: a batch that is refused before the provider is made smaller, a
// request that no account accepts is isolated or ends in quarantine, and a batch that only its
// account delays moves to another account.

import { describe, expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { type Fate, type SimOptions, SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, type World, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);
type Upload = NonNullable<Account["upload"]>;

/** Refuses creates with this while the condition holds. */
const refuse = (failure: Failure, isOn: () => boolean = () => true): ((operation: string) => Fate) => {
  return (operation) => (operation === "create" && isOn() ? { refuse: failure } : {});
};
const failure = (kind: "unknown" | "definitelyNotCreated" | "authOrBilling", code: string): Failure => {
  return { kind, code, message: "No." };
};
const full = (limitTokens: number | null): Failure => {
  return { kind: "tokenLimit", code: "token_limit_exceeded", message: "Enqueued token limit reached.", limitTokens };
};

async function sent(here: World, accounts: readonly Account[], count: number) {
  const dispatcher = await here.start({ accounts, thresholds: { maxRequests: count, maxAgeMs: 5 * MINUTE } });
  await dispatcher.enqueueMany(names(count).map((name) => ask(name)));
  return { dispatcher, rest: (withinMs?: number) => here.until(() => isAtRest(here.store, here.time.now()), withinMs) };
}

/** An account whose creates always get a 500 when they carry this request. */
function poisoned(
  here: World,
  identity: string,
  options: Partial<SimOptions> = {},
): { sim: SimProvider; account: Account } {
  const sim = new SimProvider({ time: here.time, ...options });
  const plain = sim.account();
  const poison = new Set<string>();
  const account: Account = {
    ...plain,
    upload: async (input, call) => {
      const file = await (plain.upload as Upload)(input, call);
      for await (const line of input.lines()) if (line.includes(`"${identity}"`)) poison.add(file.fileId);
      return file;
    },
    create: async (input, call) => {
      if ("fileId" in input.input && poison.has(input.input.fileId)) throw new Error("500");
      return plain.create(input, call);
    },
  };
  return { sim, account };
}

describe("an upload that is refused", () => {
  test("ends there, and the batch is halved until the service takes the parts", async () => {
    const here = world();
    const sim = new SimProvider({ time: here.time });
    const plain = sim.account();
    const tooLarge: Failure = { kind: "invalidRequest", code: "http_413", message: "Too large.", lines: [] };
    const account: Account = {
      ...plain,
      upload: async (input, call) => {
        if (input.requests > 2) throw new Error("413");
        return (plain.upload as Upload)(input, call);
      },
      classify: (error, operation) => (operation === "upload" ? tooLarge : plain.classify(error, operation)),
    };
    const { dispatcher, rest } = await sent(here, [account], 8);
    await rest();
    expect(sim.batches.map(({ total }) => total)).toEqual([2, 2, 2, 2]);
    expect(sim.calls.get("create")).toBe(4);
    expect(await dispatcher.result("r7")).toMatchObject({ status: "succeeded", attempts: 1 });
  });
});

describe("creates that never succeed", () => {
  test("because of one request end only that request, and no other fails", async () => {
    const here = world();
    const { account } = poisoned(here, "r3");
    const { dispatcher, rest } = await sent(here, [account], 8);
    await rest(7 * DAY);
    const outcomes = await Promise.all(names(8).map((name) => dispatcher.result(name)));
    expect(outcomes.filter(({ status }) => status !== "succeeded").map(({ id }) => id)).toEqual(["r3"]);
    expect(outcomes.filter(({ attempts }) => attempts !== 1)).toEqual([]);
  });

  test.each([
    ["that get a 5xx", failure("unknown", "http_500")],
    ["that get a 404", failure("definitelyNotCreated", "http_404")],
  ])("of a whole account %s put its requests aside after days, and fail none", async (_name, refusal) => {
    const here = world();
    let isDown = true;
    const sim = new SimProvider({ time: here.time, fate: refuse(refusal, () => isDown) });
    const { dispatcher, rest } = await sent(here, [sim.account()], 2);
    await here.time.advance(7 * DAY);
    const { batches, inBatches, outcomes } = await dispatcher.stats();
    expect([batches.quarantined, inBatches, outcomes.failed]).toEqual([2, 2, 0]);
    expect(sim.calls.get("create")).toBeLessThan(200);

    isDown = false;
    const aside = await dispatcher.batches({ states: ["quarantined"] });
    expect(await dispatcher.resume(aside.map(({ key }) => key))).toBe(2);
    await rest();
    expect(await dispatcher.result("r1")).toMatchObject({ status: "succeeded", attempts: 1 });
  });

  test.each([
    ["without tags", { tag: "none", maxInlineBytes: Infinity } as const],
    ["with tags", {}],
  ])("for a day, because of an outage of a provider %s, cost nothing", async (_name, capabilities) => {
    const here = world();
    const until = here.time.now() + DAY;
    const fate = refuse(failure("unknown", "http_503"), () => here.time.now() < until);
    const sim = new SimProvider({ time: here.time, fate });
    const { dispatcher, rest } = await sent(here, [sim.account(capabilities)], 3);
    await rest();
    expect(sim.batches.map(({ total }) => total)).toEqual([3]);
    expect(await dispatcher.result("r0")).toMatchObject({ status: "succeeded", attempts: 1 });
  });

  test("do not keep the other batches of an account without tags waiting", async () => {
    const here = world();
    const sim = new SimProvider({ time: here.time });
    const plain = sim.account({ tag: "none", maxInlineBytes: Infinity });
    const account: Account = {
      ...plain,
      create: async (input, call) => {
        if ("lines" in input.input && input.input.requests === 3) throw new Error("500");
        return plain.create(input, call);
      },
    };
    const { dispatcher, rest } = await sent(here, [account], 3);
    await here.time.advance(MINUTE);
    await dispatcher.enqueue(ask("other"));
    await here.time.advance(3 * HOUR);
    expect((await dispatcher.stats()).outcomes.succeeded).toBe(1);
    await rest();
    expect((await dispatcher.stats()).outcomes.succeeded).toBe(4);
  });
});

test("a create that carries its lines has time for them, under a lease that lasts as long", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const plain = sim.account({ tag: "none", maxInlineBytes: Infinity }, { requestTimeoutMs: 1_000 });
  let creates = 0;
  const account: Account = {
    ...plain,
    create: async (input, call) => {
      creates += 1;
      const bytes = "lines" in input.input ? input.input.bytes : 0;
      // 2 MB a second, and a body that did not arrive whole is not accepted.
      await new Promise<void>((resolve) => here.time.setTimeout(resolve, bytes / 2_000));
      if (call.signal.aborted) throw new Error("Aborted.");
      return plain.create(input, call);
    },
  };
  const dispatchers = [1, 2].map(() =>
    here.start({ accounts: [account], leaseMs: 2_000, thresholds: { maxRequests: 8 } }),
  );
  const [dispatcher] = await Promise.all(dispatchers);
  const padding = "x".repeat(1_000_000);
  await dispatcher?.enqueueMany(names(8).map((name) => ask(`${name}${padding}`, { id: name })));
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(creates).toBe(1);
  expect(sim.batches.map(({ total }) => total)).toEqual([8]);
});

describe("requests that only their account keeps waiting", () => {
  test.each([
    ["its key is revoked", failure("authOrBilling", "invalid_api_key")],
    ["it is full", full(null)],
  ])("go to another one where %s", async (_name, refusal) => {
    const here = world();
    const bad = new SimProvider({ time: here.time, fate: refuse(refusal) });
    const good = new SimProvider({ time: here.time });
    const accounts = [bad.account({}, { name: "bad" }), good.account({}, { name: "good" })];
    const { dispatcher, rest } = await sent(here, accounts, 2);
    await rest(2 * HOUR);
    expect(bad.calls.get("create")).toBeGreaterThan(0);
    expect(await dispatcher.result("r0")).toMatchObject({ status: "succeeded", attempts: 1 });
  });

  test("stay where the others are full as well", async () => {
    const here = world();
    const until = here.time.now() + 20 * HOUR;
    const fate = refuse(full(null), () => here.time.now() < until);
    const sims = ["a", "b"].map((name) => ({ name, sim: new SimProvider({ time: here.time, fate }) }));
    const { dispatcher, rest } = await sent(
      here,
      sims.map(({ name, sim }) => sim.account({}, { name })),
      1,
    );
    await rest();
    expect(await dispatcher.result("r0")).toMatchObject({ status: "succeeded", attempts: 1 });
    expect((await dispatcher.batches()).length).toBeLessThan(4);
  });
});

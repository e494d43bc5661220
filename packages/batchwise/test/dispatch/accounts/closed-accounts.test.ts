// Two accounts of which the first takes nothing: its key, its money, its network, or a person's
// pause. Nothing was accepted there, so the other account gets the requests at once. Official
// clients, virtual time.

import { type FakeFault, type FakeOperation, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { describe, expect, test } from "vitest";
import { drive } from "../support/drive.ts";
import { all, jobWorld, MINUTE, plain } from "../support/job-world.ts";
import { accountOf, type Fetch, unreachable } from "../support/openai-accounts.ts";
import { ask, isAtRest, world } from "../support/world.ts";

const SENDS: readonly FakeOperation[] = ["files.create", "batches.create"];
const CALLS: readonly FakeOperation[] = [...SENDS, "batches.list"];
const names = Array.from({ length: 12 }, (_, index) => `r${index}`);

function refused(on: readonly FakeOperation[], status: number, code: string): FakeFault {
  const error = { message: "No.", type: "invalid_request_error", code };
  return { on, accept: false, times: 10_000, reply: { status, body: { error } } };
}

/** Runs a job at `bad` and a good account. Returns its time, and the provider of the bad one. */
async function timeOfJob(bad: (fake: FakeProvider) => Fetch) {
  const here = jobWorld({ plan: { runMs: MINUTE } });
  const broken = fakeProvider({ clock: here.time });
  const accounts = [accountOf("bad", bad(broken)), accountOf("good", here.fake.fetch)];
  const begunAt = here.time.now();
  const outcomes = await here.settle(all(here.run({ requests: plain(25), accounts, onError: () => {} })));
  expect(outcomes.filter(({ status }) => status === "succeeded")).toHaveLength(25);
  return { ms: here.time.now() - begunAt, broken };
}

describe("the first look at the accounts decides which of them get the batches", () => {
  test("where a key is refused", async () => {
    const { ms, broken } = await timeOfJob((fake) => {
      fake.inject(refused(CALLS, 401, "invalid_api_key"));
      return fake.fetch;
    });
    expect(ms).toBeLessThan(4 * MINUTE);
    expect([broken.calls("batches.list") > 0, broken.calls("files.create")]).toEqual([true, 0]);
  });

  test("where an account cannot be reached", async () => {
    const asked: unknown[] = [];
    const { ms } = await timeOfJob(() => (input, init) => {
      asked.push(init?.method);
      return unreachable(input, init);
    });
    expect(ms).toBeLessThan(4 * MINUTE);
    expect(asked).not.toContain("POST");
  });

  test("and no account is skipped where each is refused except for its list", async () => {
    const { ms } = await timeOfJob((fake) => {
      fake.inject(refused(["batches.list"], 403, "missing_scope"));
      return fake.fetch;
    });
    expect(ms).toBeLessThan(60 * MINUTE);
  });
});

describe("an unsent batch goes back to its lane, and the other account gets it", () => {
  /** From enqueueing to rest, with dispatchers that look at no account first. */
  async function timeToRest(fetchOf: (fake: FakeProvider) => Fetch, more = async (_: Rig): Promise<void> => {}) {
    const here = world();
    const plan = { runMs: MINUTE };
    const [bad, good] = [fakeProvider({ clock: here.time, plan }), fakeProvider({ clock: here.time, plan })];
    const both = {
      get open() {
        return bad.open + good.open;
      },
    };
    const accounts = [accountOf("bad", fetchOf(bad)), accountOf("good", good.fetch)];
    const dispatcher = await here.start({ accounts, thresholds: { maxRequests: 5, maxAgeMs: 1_000 } });
    const begunAt = here.time.now();
    await dispatcher.enqueueMany(names.map((name) => ask(name)));
    await more({ here, both, dispatcher });
    await drive(here.time, both, () => isAtRest(here.store, here.time.now()));
    const { outcomes } = await here.store.probe(1, here.time.now());
    await dispatcher.stop();
    expect(outcomes.succeeded).toBe(names.length);
    return here.time.now() - begunAt;
  }

  interface Rig {
    readonly here: ReturnType<typeof world>;
    readonly both: { readonly open: number };
    readonly dispatcher: Awaited<ReturnType<ReturnType<typeof world>["start"]>>;
  }

  test.each([
    ["a key that is refused", 401, "invalid_api_key"],
    ["a project without the right", 403, "forbidden"],
    ["no money", 429, "insufficient_quota"],
    ["a bill", 402, "payment_required"],
  ])("for %s", async (_, status, code) => {
    const ms = await timeToRest((fake) => {
      fake.inject(refused(SENDS, status, code));
      return fake.fetch;
    });
    expect(ms).toBeLessThan(10 * MINUTE);
  });

  test("for an account that cannot be reached", async () => {
    expect(await timeToRest(() => unreachable)).toBeLessThan(10 * MINUTE);
  });

  test("for one that an operator has paused", async () => {
    const ms = await timeToRest(
      (fake) => {
        fake.inject({ on: "files.create", accept: false, times: 10_000, reply: { status: 500 } });
        return fake.fetch;
      },
      async ({ here, both, dispatcher }) => {
        await drive(here.time, both, async () => (await dispatcher.batches({ account: "bad" })).length > 0);
        await dispatcher.pauseAccount("bad", "maintenance");
      },
    );
    expect(ms).toBeLessThan(10 * MINUTE);
  });
});

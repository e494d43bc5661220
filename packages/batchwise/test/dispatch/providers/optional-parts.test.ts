// Optional parts of an account in the dispatcher: input chosen by size, finding by tag, groups with
// shared parameters, cleaning up, endpoints of its own.

import { describe, expect, test } from "vitest";
import type { Account, BatchName, CleanupInput } from "../../../src/dispatch/contract/account.ts";
import type { Failure } from "../../../src/dispatch/contract/failures.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { type Fate, type SimOptions, SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, type World, world } from "../support/world.ts";

const MINUTE = 60_000;
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

function rig(options: Partial<SimOptions> = {}) {
  const here = world();
  const sim = new SimProvider({ time: here.time, ...options });
  const rest = (): Promise<void> => here.until(() => isAtRest(here.store, here.time.now()));
  const calls = (operation: string): number => sim.calls.get(operation) ?? 0;
  return { ...here, sim, rest, calls };
}

async function run(here: World & { rest(): Promise<void> }, account: Account, count: number) {
  const dispatcher = await here.start({ accounts: [account], thresholds: { maxAgeMs: 5 * MINUTE } });
  await dispatcher.enqueueMany(names(count).map((name) => ask(name)));
  await here.rest();
  return dispatcher;
}

/** The first create succeeds, or not, and its answer is lost. */
function lostOnce(drop: "before" | "after"): (operation: string) => Fate {
  let creates = 0;
  return (operation) => {
    if (operation !== "create") return {};
    creates += 1;
    return creates === 1 ? { drop } : {};
  };
}

describe("an account that takes small batches inline and large ones as files", () => {
  test.each([
    [2, 0],
    [40, 1],
  ])("a batch of %i requests is uploaded %i times", async (count, uploads) => {
    const here = rig();
    await run(here, here.sim.account({ maxInlineBytes: 1_000 }), count);
    expect([here.calls("upload"), here.calls("create")]).toEqual([uploads, 1]);
    expect(here.sim.executions).toHaveLength(count);
  });

  test.each([
    ["after", 2],
    ["after", 40],
    ["before", 2],
    ["before", 40],
  ] as const)("runs each request once when a create's answer is lost (%s it was done, %i)", async (drop, count) => {
    const here = rig({ fate: lostOnce(drop) });
    await run(here, here.sim.account({ maxInlineBytes: 1_000 }), count);
    expect(here.sim.executions.map(({ identity }) => identity).toSorted()).toEqual(names(count).toSorted());
    expect(here.calls("create")).toBe(drop === "after" ? 1 : 2);
  });

  test("a process that died after its intent passes on an inline batch to be looked for, and a file to be sent", async () => {
    for (const count of [2, 40]) {
      const here = rig();
      const account = here.sim.account({ maxInlineBytes: 1_000 });
      const begunAt = here.time.now();
      const dying = new SimProcess(here.time);
      const failpoint = (name: string): void => {
        if (name === "after-intent") dying.kill();
      };
      const thresholds = { maxRequests: count };
      const where = { store: dying.wrap(here.store), clock: dying.clock, failpoint, owner: "first" };
      const first = await here.start({ accounts: [dying.wrap(account)], thresholds, ...where });
      await first.enqueueMany(names(count).map((name) => ask(name)));
      await here.time.advance(MINUTE);
      expect([dying.isDead, here.calls("create")]).toEqual([true, 0]);
      await here.start({ accounts: [account], thresholds, owner: "second" });
      await here.rest();
      expect(here.sim.executions).toHaveLength(count);
      // A batch that may exist is searched for before it is sent again.
      const waitedMs = (here.sim.batches[0]?.createdAt ?? 0) - begunAt;
      expect(waitedMs >= 5 * MINUTE).toBe(count === 2);
    }
  });
});

describe("an account that can look up a tag", () => {
  function finding(here: ReturnType<typeof rig>) {
    const plain = here.sim.account();
    const asked: BatchName[] = [];
    const lists: number[] = [];
    const account: Account = {
      ...plain,
      find: async (tag) => {
        asked.push(tag);
        return here.sim.batches.filter((batch) => batch.tag?.key === tag.key);
      },
      list: (page, call) => {
        lists.push(here.time.now());
        return plain.list(page, call);
      },
    };
    return { account, asked, lists };
  }

  test("is called for a lost create, and no list is read", async () => {
    const here = rig({ fate: lostOnce("after") });
    for (let index = 0; index < 200; index += 1) here.sim.addForeign(1);
    const { account, asked, lists } = finding(here);
    const dispatcher = await run(here, account, 3);
    const [batch] = await dispatcher.batches();
    expect(asked[0]).toEqual({ key: batch?.key, attempt: 1, endpoint: "/v1/chat/completions", model: "m" });
    expect(here.sim.executions.filter(({ key }) => key !== "stranger")).toHaveLength(3);
    expect(lists).toEqual([]);
  });

  test("is called by the sweep for each of a few batches, and a late duplicate is cancelled", async () => {
    let creates = 0;
    // The first create succeeds long after it was given up.
    const fate = (operation: string): Fate => {
      if (operation !== "create") return {};
      creates += 1;
      return creates === 1 ? { actAfterMs: 20 * MINUTE, drop: "after" } : {};
    };
    const here = rig({ fate, plan: () => ({ runMs: 4 * 60 * MINUTE }) });
    const { account, lists } = finding(here);
    const dispatcher = await run(here, account, 3);
    const [batch] = await dispatcher.batches();
    expect(batch).toMatchObject({ submitAttempt: 2, orphans: [{ action: "cancelled" }] });
    expect(lists).toEqual([]);
  });
});

describe("requests that an account puts in groups", () => {
  test("share a batch only with those of their group, whatever becomes of them", async () => {
    const fate = (operation: string): Fate => {
      const failure = { kind: "invalidRequest", code: "odd", message: "No.", lines: [] } as const;
      return operation === "create" && here.calls("create") === 1 ? { refuse: failure } : {};
    };
    const here: ReturnType<typeof rig> = rig({ fate });
    const { sim } = here;
    const plain = sim.account();
    const sent: { readonly first: string; readonly requests: number }[] = [];
    const account: Account = {
      ...plain,
      groupOf: (_endpoint, body) => (typeof body.dtype === "string" ? body.dtype : null),
      create: async (input, call) => {
        const answer = await plain.create(input, call);
        sent.push({ first: JSON.parse(await input.firstBody()).dtype ?? "none", requests: 0 });
        return answer;
      },
    };
    const dispatcher = await here.start({ accounts: [account], thresholds: { maxAgeMs: 5 * MINUTE } });
    const dtypes = [undefined, "int8", "float with a space", "int8", undefined, "int8"];
    const requests = dtypes.map((dtype, index) => {
      const { body } = ask(`r${index}`);
      return { id: `r${index}`, body: dtype === undefined ? body : { ...body, dtype } };
    });
    await dispatcher.enqueueMany(requests);
    expect((await here.store.probe(10, here.time.now())).lanes).toHaveLength(3);
    expect((await dispatcher.stats()).lanes).toMatchObject([{ model: "m", waiting: 6, orMore: false }]);
    await here.rest();
    const batchOf = new Map(sim.executions.map(({ identity, key }) => [identity, key]));
    const groups = new Map<string, Set<string | undefined>>();
    for (const [identity, key] of batchOf) {
      const dtype = dtypes[Number(identity.slice(1))];
      groups.set(key, (groups.get(key) ?? new Set()).add(dtype));
    }
    for (const group of groups.values()) expect(group.size).toBe(1);
    expect([...new Set(sent.map(({ first }) => first))].sort()).toEqual(["float with a space", "int8", "none"]);
    expect(batchOf.size).toBe(6);
  });
});

describe("an account whose results are named by place", () => {
  const busy: Failure = { kind: "rateLimited", code: "busy", message: "Later.", retryAfterMs: 2 * MINUTE };

  async function answers(here: ReturnType<typeof rig>, account: Account, late: readonly string[]) {
    const thresholds = { maxRequests: 4, maxAgeMs: MINUTE };
    const dispatcher = await here.start({ accounts: [account], thresholds });
    const deadlineAt = here.time.now() + MINUTE;
    await dispatcher.enqueueMany(names(4).map((id) => ask(id, late.includes(id) ? { deadlineAt } : {})));
    await here.rest();
    const outcomes = await Promise.all(names(4).map((id) => dispatcher.result(id)));
    const batches = await dispatcher.batches();
    return {
      answers: outcomes.map(({ error, response }) => error?.code ?? response?.body.answer),
      attempts: outcomes.map(({ attempts }) => attempts),
      sizes: batches.map(({ requests }) => requests).toSorted((a, b) => b - a),
    };
  }

  test.each([
    ["r0", ["deadline_exceeded", "r1", "r2", "r3"]],
    ["r2", ["r0", "r1", "deadline_exceeded", "r3"]],
  ])("sends the others in a new batch, uncharged, when %s has left the first", async (late, expected) => {
    const fate = (operation: string): Fate =>
      operation === "create" && here.calls("create") === 1 ? { refuse: busy } : {};
    const here: ReturnType<typeof rig> = rig({ byPlace: true, fate });
    const told = await answers(here, here.sim.account(), [late]);
    expect(told.answers).toEqual(expected);
    expect(told.attempts).toEqual(expected.map((word) => (word === "deadline_exceeded" ? 0 : 1)));
    expect(told.sizes).toEqual([4, 3]);
    expect(here.calls("create")).toBe(2);
  });

  test("sends the first batch again if none of its requests has gone", async () => {
    const fate = (operation: string): Fate =>
      operation === "create" && here.calls("create") === 1 ? { refuse: busy } : {};
    const here: ReturnType<typeof rig> = rig({ byPlace: true, fate });
    const told = await answers(here, here.sim.account(), []);
    expect([told.answers, told.sizes]).toEqual([names(4), [4]]);
  });
});

describe("an account that cleans up", () => {
  test("gets each batch whose results are durable, with its file", async () => {
    const here = rig();
    const cleaned: CleanupInput[] = [];
    const open: number[] = [];
    const account: Account = {
      ...here.sim.account(),
      cleanup: async (batch) => {
        cleaned.push(batch);
        open.push((await here.store.outcomes({ after: 0, limit: 10 })).length);
      },
    };
    const dispatcher = await run(here, account, 3);
    const [batch] = await dispatcher.batches();
    expect(cleaned).toEqual([
      {
        ...{ key: batch?.key, attempt: 1, endpoint: "/v1/chat/completions", model: "m" },
        ...{ providerBatchId: "batch-1", fileId: "file-1" },
      },
    ]);
    expect(open).toEqual([3]);
  });

  test.each([
    ["fails", async (): Promise<void> => Promise.reject(new Error("no"))],
    ["hangs", (): Promise<void> => new Promise(() => {})],
  ])("harms no batch when it %s, and says so", async (_how, cleanup) => {
    const here = rig();
    const told: unknown[] = [];
    const dispatcher = await here.start({
      accounts: [{ ...here.sim.account(), cleanup }],
      thresholds: { maxRequests: 3 },
      onError: (_error, context) => void told.push(context),
    });
    await dispatcher.enqueueMany(names(3).map((name) => ask(name)));
    const states = async () => (await dispatcher.batches()).map(({ state }) => state);
    await here.until(async () => (await states()).includes("done"));
    const [batch] = await dispatcher.batches();
    expect(told).toEqual([{ account: "sim", batch: batch?.key, operation: "cleanup" }]);
  });
});

describe("an endpoint of an account's own", () => {
  const accounts = [new SimProvider({ time: world().time }).account({ endpoints: ["/v1/messages", "/v1/embeddings"] })];

  test("is taken as it is listed, also where a line omits its version", async () => {
    const store = memoryStore();
    const dispatcher = createDispatcher({ store, accounts });
    const body = { model: "m", messages: [{ role: "user", content: "a" }] };
    await dispatcher.enqueue({ id: "a", endpoint: "/v1/messages", body });
    await dispatcher.enqueue({ custom_id: "b", method: "POST", url: "/messages", body });
    const rows = await dispatcher.requests({});
    expect(rows.requests.map(({ endpoint }) => endpoint)).toEqual(["/v1/messages", "/v1/messages"]);
  });

  test("is not taken where no account lists it, and the refusal lists the known ones", async () => {
    const dispatcher = createDispatcher({ store: memoryStore(), accounts });
    await expect(dispatcher.enqueue({ endpoint: "/v1/ocr", body: { model: "m" } })).rejects.toMatchObject({
      code: "UNKNOWN_ENDPOINT",
      message: expect.stringContaining("/v1/embeddings, /v1/messages"),
    });
    await expect(dispatcher.enqueue(ask("a"))).rejects.toMatchObject({
      code: "NO_ACCOUNT",
      message: expect.stringContaining("Those that take the model have /v1/embeddings, /v1/messages"),
    });
  });

  test.each([
    ["/v1/a b", "without a space"],
    ["/v1/a#b", "without a space"],
    ["", "without a space"],
  ])("cannot be called %j", (endpoint, words) => {
    const account = new SimProvider({ time: world().time }).account({ endpoints: [endpoint] });
    expect(() => createDispatcher({ store: memoryStore(), accounts: [account] })).toThrow(words);
  });
});

test("a batch that failed after some of it had run keeps the finished results, and only the rest runs again", async () => {
  const left = new Set(["r1", "r3"]);
  const here = rig({ plan: ({ index }) => (index === 0 ? { notRun: (identity) => left.has(identity) } : {}) });
  const plain = here.sim.account();
  const failure = { kind: "invalidRequest", code: "odd", message: "It broke.", lines: [] } as const;
  const account: Account = {
    ...plain,
    retrieve: async (id, call) => {
      const seen = await plain.retrieve(id, call);
      return seen?.state === "expired" ? { ...seen, state: "failed", failure } : seen;
    },
  };
  const dispatcher = await run(here, account, 5);
  expect(here.sim.executions.map(({ identity }) => identity).toSorted()).toEqual(names(5));
  const outcomes = await Promise.all(names(5).map((name) => dispatcher.result(name)));
  expect(outcomes.map(({ status }) => status)).toEqual(new Array(5).fill("succeeded"));
});

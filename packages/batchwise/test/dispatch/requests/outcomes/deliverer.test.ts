// Callbacks and webhooks: delivered at least once, signed and logged, without delaying the outcome.

import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { LoggedOutcome } from "../../../../src/dispatch/contract/types.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, type World, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function dispatched(options: Partial<DispatcherOptions>): Promise<World> {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const thresholds = { maxRequests: 2, maxAgeMs: MINUTE };
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds, ...options });
  await dispatcher.enqueueMany([ask("a", { metadata: { row: "7" }, tenant: "t" }), ask("b")]);
  return here;
}

const rest = ({ store, time, until }: World): Promise<void> => until(() => isAtRest(store, time.now()));

describe("the callback", () => {
  test("gets each outcome once, with the fields that the caller enqueued beside it", async () => {
    const heard: LoggedOutcome[] = [];
    const here = await dispatched({ onOutcome: (outcome) => void heard.push(outcome) });
    await rest(here);
    expect(heard.map(({ id, metadata, tenant, cursor }) => [id, metadata, tenant, cursor])).toEqual([
      ["a", { row: "7" }, "t", 1],
      ["b", null, "", 2],
    ]);
  });

  test("that throws is called again later, and the log says why", async () => {
    let calls = 0;
    const onOutcome = (): void => {
      calls += 1;
      if (calls <= 2) throw new Error("Not now.");
    };
    const here = await dispatched({ onOutcome });
    await rest(here);
    expect(calls).toBe(4);
    const [first] = await here.store.outcomes({ after: 0, limit: 10, deliveries: true });
    expect(first?.deliveries).toMatchObject([
      { sink: "callback", state: "delivered", attempt: 2, log: [{ error: "Not now." }, { error: null }] },
    ]);
  });
});

describe("a stop", () => {
  test("waits for a callback that runs, and books it", async () => {
    const here = world();
    const sim = new SimProvider({ time: here.time });
    let calls = 0;
    const slow = async (): Promise<void> => {
      calls += 1;
      await new Promise((resolve) => here.time.setTimeout(() => resolve(null), MINUTE));
    };
    const thresholds = { maxRequests: 1 };
    const dispatcher = await here.start({ accounts: [sim.account()], thresholds, onOutcome: slow });
    await dispatcher.enqueue(ask("a"));
    await here.until(async () => calls > 0);
    const stopped = dispatcher.stop();
    await here.time.advance(MINUTE);
    await stopped;
    expect(await isAtRest(here.store, here.time.now())).toBe(true);
  });

  test("ends though a callback hangs: that one is called again elsewhere, the others of its turn are booked", async () => {
    const here = world();
    const sim = new SimProvider({ time: here.time });
    const begun: string[] = [];
    const hangs = async ({ id }: LoggedOutcome): Promise<void> => {
      begun.push(id);
      if (id === "a") await new Promise(() => {});
    };
    const accounts = [sim.account()];
    const first = await here.start({ accounts, thresholds: { maxRequests: 2 }, onOutcome: hangs });
    await first.enqueueMany([ask("a"), ask("b")]);
    await here.until(async () => begun.length === 2);
    let isStopped = false;
    const stopped = first.stop().then(() => {
      isStopped = true;
    });
    await here.time.advance(80_000);
    expect(isStopped).toBe(false);
    await here.time.advance(11_000);
    expect(isStopped).toBe(true);
    await stopped;
    expect(here.time.timers).toBe(0);
    const heard: string[] = [];
    await here.start({ accounts, onOutcome: ({ id }) => void heard.push(id) });
    await rest(here);
    expect(heard).toEqual(["a"]);
  });
});

interface Post {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

function receiver(statusOf: (call: number) => number): { readonly posts: Post[]; readonly fetch: typeof fetch } {
  const posts: Post[] = [];
  return {
    posts,
    fetch: async (target, init) => {
      posts.push({ url: String(target), headers: new Headers(init?.headers), body: String(init?.body) });
      const status = statusOf(posts.length);
      if (status === 0) throw new TypeError("fetch failed");
      return new Response(null, { status });
    },
  };
}

describe("the webhook", () => {
  const webhook = (fetch: typeof globalThis.fetch) => ({ url: "https://example.test/hook", secret: "s3cret", fetch });

  test("posts each outcome, signed over id, time and body", async () => {
    const { posts, fetch } = receiver(() => 204);
    await rest(await dispatched({ webhook: webhook(fetch) }));
    expect(posts.map(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id)).toEqual(["a", "b"]);
    for (const { headers, body } of posts) {
      const signed = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${body}`;
      const expected = createHmac("sha256", "s3cret").update(signed).digest("base64");
      expect(headers.get("webhook-signature")).toBe(`v1,${expected}`);
    }
    expect(new Set(posts.map(({ headers }) => headers.get("webhook-id"))).size).toBe(2);
  });

  test("that fails is tried again with the same id, and every try is in the log", async () => {
    const { posts, fetch } = receiver((call) => [503, 200, 0, 200][call - 1] ?? 200);
    const here = await dispatched({ webhook: webhook(fetch) });
    await rest(here);
    expect(posts).toHaveLength(4);
    const ids = posts.map(({ headers }) => headers.get("webhook-id"));
    expect(ids.toSorted()).toEqual(["outcome_1", "outcome_1", "outcome_1", "outcome_2"]);
    const rows = await here.store.outcomes({ after: 0, limit: 10, deliveries: true });
    const logs = rows.map(({ deliveries }) => deliveries?.[0]?.log.map(({ statusCode }) => statusCode));
    expect(logs).toEqual([[503, null, 200], [200]]);
  });

  test("that never answers is given up in the end, and the outcome stays", async () => {
    const { posts, fetch } = receiver(() => 500);
    const here = await dispatched({ webhook: webhook(fetch) });
    await here.time.advance(48 * HOUR);
    expect(posts).toHaveLength(24);
    const [first] = await here.store.outcomes({ after: 0, limit: 1, deliveries: true });
    expect(first).toMatchObject({ status: "succeeded", deliveries: [{ state: "dead", attempt: 12 }] });
  });

  test("that hangs is cut off, and does not hold the others up", async () => {
    let calls = 0;
    const fetch: typeof globalThis.fetch = () => {
      calls += 1;
      return calls === 1 ? new Promise(() => {}) : Promise.resolve(new Response(null, { status: 200 }));
    };
    const here = await dispatched({ webhook: webhook(fetch) });
    await rest(here);
    expect(calls).toBe(3);
  });
});

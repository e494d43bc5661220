// A batch that is refused without a line to blame, with other failures between its refusals, while
// an older batch of its lane is done: the refusals say nothing of the batch. Through the fake
// provider and the official client, on the store that is given.

import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { type VirtualClock, virtualClock } from "../../../src/testing/index.ts";
import { drive } from "./drive.ts";
import { isAtRest, START, seeded } from "./world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Answer = (time: VirtualClock) => Response;

const json = (status: number, error: object, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify({ error }), { status, headers: { "content-type": "application/json", ...headers } });

const refused: Answer = () => json(400, { message: "Invalid request.", type: "invalid_request_error" });
const slowDown =
  (seconds: number): Answer =>
  () =>
    json(429, { code: "rate_limit_exceeded", message: "Slow down." }, { "retry-after": `${seconds}` });

const badKey: Answer = () => json(401, { code: "invalid_api_key", message: "Incorrect API key provided." });
const broken: Answer = () => {
  throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
};

interface Between {
  readonly name: string;
  readonly answers: readonly Answer[];
}

/** What may happen to a batch between two refusals. */
const BETWEEN: readonly Between[] = [
  { name: "a 429", answers: [slowDown(120)] },
  { name: "nothing else", answers: [refused] },
  { name: "a key that is refused", answers: [badKey] },
  { name: "a broken upload", answers: [broken] },
  { name: "a server error", answers: [() => json(500, { message: "The server had an error." })] },
];
/** All that once made a batch forget its refusals, in one run. */
const SHORT: Between = {
  name: "a refused key, a broken upload and a 429",
  answers: [badKey, broken, slowDown(60)],
};

interface Told {
  /** Requests in each upload of the second batch or of a part of it, in order. */
  readonly uploads: readonly number[];
  readonly outcomes: readonly { readonly status: string; readonly attempts: number }[];
}

/**
 * The first batch is taken a minute after both are sealed. The second one gets these answers, and
 * the last of them for so long as the outage lasts.
 */
async function run(store: Store, size: number, answers: readonly Answer[], outageMs: number): Promise<Told> {
  const time = virtualClock(START);
  const fake = fakeProvider({ clock: time, plan: () => ({ validateMs: 5_000, runMs: 60_000, finalizeMs: 0 }) });
  const uploads: number[] = [];
  const outageEnd = START + outageMs;
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, { ...init, duplex: "half" } as RequestInit);
    const body = new Uint8Array(await request.arrayBuffer());
    const content = new TextDecoder().decode(body);
    const lines = content.split("Say b").length - 1;
    if (lines > 0) {
      const answer = answers[Math.min(uploads.push(lines), answers.length) - 1];
      if (answer !== undefined && time.now() < outageEnd) return answer(time);
    }
    // Nothing is taken within the first minute.
    if (content.includes("Say a") && time.now() < START + MINUTE) return slowDown(60)(time);
    return fake.fetch(input, { ...init, headers: request.headers, ...(body.length === 0 ? {} : { body }) });
  };
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch, maxRetries: 0 });
  const dispatcher = createDispatcher({
    ...{ store, clock: time, random: seeded(5), onError: () => {}, accounts: [openaiAccount({ client })] },
    thresholds: { maxRequests: size, maxAgeMs: 1_000 },
  });
  await dispatcher.start();
  const ids = ["a", "b"].flatMap((batch) => Array.from({ length: size }, (_, n) => `${batch}${n}`));
  const ask = (id: string) => ({ id, body: { model: "m", messages: [{ role: "user", content: `Say ${id}.` }] } });
  await dispatcher.enqueueMany(ids.map(ask));
  await drive(time, fake, () => isAtRest(store, time.now()));
  const outcomes = await Promise.all(ids.map((id) => dispatcher.result(id)));
  await dispatcher.stop();
  return { uploads, outcomes };
}

/**
 * Two tests for each failure between two refusals. On a `slow` store the failures that may harm
 * share a run. `open` gives an empty store.
 */
export function testRememberedRefusals(open: () => Promise<Store>, slow = false): void {
  const between = slow ? [SHORT] : BETWEEN;
  test.each(between)("with $name between two refusals, a batch is not to blame", async ({ answers: others }) => {
    // Both of its refusals come after the first batch was taken.
    const { uploads, outcomes } = await run(await open(), 4, [slowDown(120), refused, ...others, refused], HOUR);
    expect(uploads.find((lines) => lines < 4)).toBe(1);
    expect(outcomes.filter(({ status, attempts }) => status !== "succeeded" || attempts !== 1)).toEqual([]);
  });

  test.each(between)(
    "with $name between refusals, a request does not fail in an outage",
    async ({ answers: others }) => {
      const again = [...others, refused];
      const answers = [slowDown(120), refused, ...(slow ? again : [...again, ...again, ...again])];
      const { outcomes } = await run(await open(), 1, answers, HOUR);
      expect(outcomes.filter(({ status, attempts }) => status !== "succeeded" || attempts !== 1)).toEqual([]);
    },
  );
}

// A whole day of work for the dispatcher, in virtual time: requests that arrive unevenly, at
// accounts of the strict fake over the official client. Accounts differ in their limit of enqueued
// tokens; some items fail once, some always; some batches expire with only a part of their results.
// `npm test` runs the day with a fifth of its requests, limits and batch sizes.

import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeAnswer, type FakeLine, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import type { VirtualClock } from "../../../src/testing/index.ts";
import { runsAllCases } from "./breadth.ts";
import { isAtRest, seeded, type World, world } from "./world.ts";

const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
/** How much of the day's 50,000 requests, and of all that has to grow with them. */
export const SCALE: number = runsAllCases ? 1 : 0.06;
export const REQUESTS: number = 50_000 * SCALE;
const DAY = 24 * HOUR;
const SLOT = 10 * MINUTE;
/** A nightly job brings this share of the day at once, this long after the start. */
const BURST = { share: 0.2, at: 18 * HOUR };
const BAD_SHARE = 0.01;
const FAILED_SHARE = 0.05;
const SMALL = 150 * SCALE;
/** Turns of the platform without a running call after which nothing is running. */
const QUIET_TURNS = 4;

export interface AccountOfDay {
  /** Maximum enqueued tokens of the provider. */
  readonly enqueuedTokens: number;
  /** Whether the dispatcher knows the limit. */
  readonly isTold: boolean;
  /** How many of its batches outlast their day: the first that are not small. */
  readonly expiring: number;
}

export const nameOf = (n: number): string => `r${n}`;
export const isBad = (n: number): boolean => seeded(n)() < BAD_SHARE;
/** The answer that the provider computes. */
export const answerTo = (n: number): string => `${n} squared is ${n * n}.`;

function ask(n: number): DispatchRequest {
  return { id: nameOf(n), body: { model: "m", messages: [{ role: "user", content: `What is ${n} squared?` }] } };
}

function numberIn({ body }: FakeLine): number {
  const [message] = body.messages as readonly { readonly content: string }[];
  return Number(/\d+/.exec(message?.content ?? "")?.[0]);
}

function answer(line: FakeLine): FakeAnswer {
  const n = numberIn(line);
  if (isBad(n)) return { status: 400, body: { error: { code: "content_refused", message: "Refused." } } };
  const message = { role: "assistant", content: answerTo(n) };
  return { status: 200, body: { choices: [{ index: 0, message, finish_reason: "stop" }] } };
}

/** How many have arrived by then: few by night, most in the afternoon, and the nightly job. */
function arrivedBy(at: number): number {
  if (at >= DAY) return REQUESTS;
  const curve = at / DAY - (0.9 * Math.sin((2 * Math.PI * at) / DAY)) / (2 * Math.PI);
  const burst = at >= BURST.at ? BURST.share : 0;
  return Math.floor(REQUESTS * ((1 - BURST.share) * curve + burst));
}

/** Calls without an answer. */
class Pending {
  readonly #calls: Set<unknown> = new Set();
  #begun = 0;

  add<T>(call: Promise<T>): Promise<T> {
    this.#begun += 1;
    this.#calls.add(call);
    const end = (): void => {
      this.#calls.delete(call);
    };
    call.then(end, end);
    return call;
  }

  /**
   * Between two timers the client needs many turns of the platform: time stands still until all is
   * quiet.
   */
  async settle(time: VirtualClock): Promise<void> {
    const begun = this.#begun;
    await time.settle();
    // Most timers lead to no call.
    if (this.#begun === begun && this.#calls.size === 0) return;
    for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
      await time.settle();
      if (this.#calls.size > 0) quiet = -1;
    }
  }
}

/** The same account; `pending` sees each of its promises. */
function watched(account: Account, pending: Pending): Account {
  return new Proxy(account, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: readonly unknown[]) => {
        const answer: unknown = Reflect.apply(value, target, [...given]);
        return answer instanceof Promise ? pending.add(answer) : answer;
      };
    },
  });
}

export interface DayAtWork {
  readonly fakes: readonly FakeProvider[];
  readonly dispatcher: Dispatcher;
  /** From the first arrival to the last outcome. */
  readonly makespanMs: number;
}

/** Runs the day for requests whose number `isMine`, and continues until all have ended. */
export async function liveDay(accounts: readonly AccountOfDay[], isMine: (n: number) => boolean): Promise<DayAtWork> {
  const here = world();
  const pending = new Pending();
  const fakes = accounts.map((account, index) => fakeOf(here, account, index));
  const dispatcher = await here.start({
    accounts: accounts.map((account, index) => accountOf(fakes[index] as FakeProvider, account, index, pending)),
    thresholds: { maxRequests: 2_000 * SCALE, maxAgeMs: 30 * MINUTE },
    retry: { attempts: 6, backoffMs: MINUTE },
  });
  const { time, store } = here;
  const began = time.now();
  for (let at = 0; at < DAY; at += SLOT) {
    const some: DispatchRequest[] = [];
    for (let n = arrivedBy(at); n < arrivedBy(at + SLOT); n += 1) if (isMine(n)) some.push(ask(n));
    await dispatcher.enqueueMany(some);
    await runUntil(time, pending, began + at + SLOT);
  }
  while (!(await isAtRest(store, time.now()))) await runUntil(time, pending, time.nextAt);
  return { fakes, dispatcher, makespanMs: time.now() - began };
}

async function runUntil(time: VirtualClock, pending: Pending, until: number): Promise<void> {
  await pending.settle(time);
  while (time.nextAt <= until) {
    await time.advance(time.nextAt - time.now());
    await pending.settle(time);
  }
  await time.advance(until - time.now());
}

function fakeOf(here: World, { enqueuedTokens, expiring }: AccountOfDay, index: number): FakeProvider {
  let expired = 0;
  return fakeProvider({
    clock: here.time,
    seed: index + 1,
    limits: { enqueuedTokens, failedCountsForMs: 10 * MINUTE },
    listLagMs: 5_000,
    answer,
    identify: (line) => nameOf(numberIn(line)),
    plan: ({ requests }) => {
      const expires = expired < expiring && requests >= SMALL;
      if (expires) expired += 1;
      return {
        runMs: expires ? 2 * DAY : HOUR + (requests / SCALE) * 500,
        expiredShare: 0.6,
        failedShare: FAILED_SHARE,
      };
    },
  });
}

function accountOf(fake: FakeProvider, of: AccountOfDay, index: number, pending: Pending): Account {
  const fetch: FakeProvider["fetch"] = (target, init) => pending.add(wholeAnswer(fake, target, init));
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch });
  const limits = of.isTold ? { limits: { maxEnqueuedTokens: of.enqueuedTokens } } : {};
  return watched(openaiAccount({ client, name: `account-${index}`, pollMs: MINUTE, ...limits }), pending);
}

/** An answer with all of its body. */
async function wholeAnswer(fake: FakeProvider, ...call: Parameters<FakeProvider["fetch"]>): Promise<Response> {
  const answer = await fake.fetch(...call);
  return new Response(await answer.arrayBuffer(), { status: answer.status, headers: answer.headers });
}

// A day's work of 50,000 requests (in `npm test` 3,000) over three unequal accounts with
// token limits, partial failures and expiry, through the official client and the strict fake, in
// virtual time: every outcome is right, list calls keep the polls few, and choosing by headroom
// ends sooner than dealing in turn.

import type { FakeExecution, FakeOperation } from "batchwise/dispatch/testing";
import { expect, test } from "vitest";
import type { LoggedOutcome } from "../../src/dispatch/contract/types.ts";
import {
  type AccountOfDay,
  answerTo,
  type DayAtWork,
  HOUR,
  isBad,
  liveDay,
  nameOf,
  REQUESTS,
  SCALE,
} from "./support/day.ts";

/** A request has about a dozen tokens. The third limit is learned from the provider's refusal. */
const ACCOUNTS: readonly AccountOfDay[] = [
  { enqueuedTokens: 72_000 * SCALE, isTold: true, expiring: 2 },
  { enqueuedTokens: 24_000 * SCALE, isTold: true, expiring: 1 },
  { enqueuedTokens: 5_000 * SCALE, isTold: false, expiring: 0 },
];

/** The expected outcome of a request, as a text. */
function expectedOf(n: number): string {
  return `${nameOf(n)}: ${isBad(n) ? "failed 400 content_refused" : `succeeded 200 ${answerTo(n)}`}`;
}

function seenOf({ id, status, response, error }: LoggedOutcome): string {
  const [choice] = (response?.body.choices ?? []) as readonly { readonly message: { readonly content: string } }[];
  return `${id}: ${status} ${response?.statusCode} ${choice?.message.content ?? error?.code}`;
}

async function outcomesOf({ dispatcher }: DayAtWork): Promise<LoggedOutcome[]> {
  const outcomes: LoggedOutcome[] = [];
  for await (const outcome of dispatcher.outcomes()) if (outcomes.push(outcome) === REQUESTS) break;
  return outcomes;
}

const executionsAt = ({ fakes }: DayAtWork): FakeExecution[] => fakes.flatMap((fake) => fake.executions());
const isSuccess = ({ status }: FakeExecution): boolean => status === 200;

function callsAt({ fakes }: DayAtWork, ...operations: FakeOperation[]): number {
  return fakes.flatMap((fake) => operations.map((each) => fake.calls(each))).reduce((sum, calls) => sum + calls, 0);
}

function failuresBy({ fakes }: DayAtWork, state: string): number {
  return fakes.flatMap((fake) => fake.batches()).filter((batch) => batch.state === state).length;
}

test("a day of requests ends right, sooner than dealt in turn, with few calls a batch", async () => {
  const day = await liveDay(ACCOUNTS, () => true);
  const outcomes = await outcomesOf(day);
  const seen = new Set(outcomes.map(seenOf));
  const wanted = Array.from({ length: REQUESTS }, (_, n) => expectedOf(n));
  expect(wanted.filter((each) => !seen.has(each))).toEqual([]);

  const executions = executionsAt(day);
  const successes = executions.filter(isSuccess).map(({ identity }) => identity);
  const good = outcomes.filter(({ status }) => status === "succeeded").length;
  expect([successes.length, new Set(successes).size]).toEqual([good, good]);
  const notRun = new Set(executions.filter(({ ran }) => !ran).map(({ identity }) => identity));
  const failed = executions.filter(({ status }) => status === 500).length;
  expect([notRun.size > 100 * SCALE, failed > 2_000 * SCALE]).toEqual([true, true]);
  expect(outcomes.filter(({ id, attempts }) => notRun.has(id) && attempts === 1)).toEqual([]);
  const [expired, refused] = [failuresBy(day, "expired"), failuresBy(day, "failed")];
  expect(expired).toBe(3);
  expect(refused).toBeGreaterThan(0);

  const batches = day.fakes.reduce((sum, fake) => sum + fake.batches().length, 0);
  const polls = callsAt(day, "batches.list", "batches.retrieve") / batches;
  const calls = day.fakes.reduce((sum, fake) => sum + fake.calls(), 0) / batches;
  await day.dispatcher.stop();

  const inTurn: number[] = [];
  for (const [index, account] of ACCOUNTS.entries()) {
    const third = await liveDay([account], (n) => n % ACCOUNTS.length === index);
    inTurn.push(third.makespanMs);
    await third.dispatcher.stop();
  }
  const roundRobin = Math.max(...inTurn);
  console.log(
    `makespan ${(day.makespanMs / HOUR).toFixed(1)} h, dealt in turn ${(roundRobin / HOUR).toFixed(1)} h; ` +
      `${batches} batches, ${expired} expired, ${refused} refused for tokens; ` +
      `a batch takes ${polls.toFixed(1)} polls, ${calls.toFixed(1)} calls in all`,
  );
  expect(day.makespanMs).toBeLessThan(roundRobin);
  expect(polls).toBeLessThan(28);
}, 600_000);

// A refused batch that some members have left: the present ones are divided, and the one sent alone
// is one of them.

import { expect, test } from "vitest";
import type { Account, CreateInput } from "../../../../src/dispatch/contract/account.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, world } from "../../support/world.ts";

const MINUTE = 60_000;
const busy: Failure = { kind: "rateLimited", code: "busy", message: "Later.", retryAfterMs: 2 * MINUTE };
const invalid: Failure = { kind: "invalidRequest", code: "invalid_value", message: "No.", lines: [] };
const tooLarge: Failure = { ...invalid, code: "file_too_large" };

/** Creates by size and minute. `refusalOf` is called at each with its number, from 1. */
function rig(refusalOf: (create: number, size: number) => Failure | null) {
  const here = world();
  const creates: string[] = [];
  let size = 0;
  const sim = new SimProvider({
    time: here.time,
    fate: (operation) => {
      const refuse = operation === "create" ? refusalOf(creates.length, size) : null;
      return refuse === null ? {} : { refuse };
    },
  });
  const plain = sim.account();
  const begunAt = here.time.now();
  const account: Account = {
    ...plain,
    upload: (input, call) => {
      size = input.requests;
      return (plain.upload as NonNullable<Account["upload"]>)(input, call);
    },
    create: (input: CreateInput, call) => {
      creates.push(`${size} in minute ${Math.floor((here.time.now() - begunAt) / MINUTE)}`);
      return plain.create(input, call);
    },
  };
  return { ...here, sim, account, creates, rest: () => here.until(() => isAtRest(here.store, here.time.now())) };
}

const many = (count: number, isLate: (index: number) => boolean, deadlineAt: number) =>
  Array.from({ length: count }, (_, index) => ask(`r${index}`, isLate(index) ? { deadlineAt } : {}));

test("the first of the remaining ones goes by itself, where the first of all has gone", async () => {
  const { start, time, account, creates, rest } = rig((create, size) =>
    create === 1 ? busy : size > 1 && create < 5 ? invalid : null,
  );
  const dispatcher = await start({ accounts: [account], thresholds: { maxRequests: 4 } });
  await dispatcher.enqueueMany(many(4, (index) => index === 0, time.now() + MINUTE));
  await rest();
  expect(creates.slice(0, 4)).toEqual(["4 in minute 0", "3 in minute 2", "3 in minute 2", "1 in minute 2"]);
});

test("those that are there go in halves, wherever they stood", async () => {
  const { start, time, account, creates, rest } = rig((create, size) =>
    create === 1 ? busy : size > 2 ? tooLarge : null,
  );
  const dispatcher = await start({ accounts: [account], thresholds: { maxRequests: 8 } });
  await dispatcher.enqueueMany(many(8, (index) => index >= 4, time.now() + MINUTE));
  await rest();
  expect(creates.map((each) => each[0])).toEqual(["8", "4", "4", "2", "2"]);
});

test("a process that dies among them passes the same division to the next one", async () => {
  const COUNT = 12_000;
  const { start, time, store, account, creates } = rig((_create, size) => (size > 1 ? invalid : null));
  const dying = new SimProcess(time);
  let settled = 0;
  const watched = dying.wrap(store, async (name, call) => {
    if (name === "settle") settled += 1;
    if (settled < 2) return call();
    dying.kill();
    return new Promise(() => {});
  });
  const thresholds = { maxRequests: COUNT };
  const own = { store: watched, clock: dying.clock, owner: "first" };
  const first = await start({ accounts: [dying.wrap(account)], thresholds, ...own });
  await first.enqueueMany(many(COUNT, () => false, 0));
  for (let steps = 0; !dying.isDead && steps < 100; steps += 1) await time.advance(1_000);
  expect([dying.isDead, creates.length]).toEqual([true, 2]);
  await start({ accounts: [account], thresholds, owner: "second" });
  const isDone = async () => (await store.batches({ states: ["done"], limit: 1 })).length === 1;
  for (let steps = 0; !(await isDone()) && steps < 30; steps += 1) await time.advance(MINUTE);
  await time.advance(MINUTE);
  const alone = (await store.batches({ limit: 100 })).filter(({ lane }) => lane.includes(".c "));
  expect(alone.map(({ requests }) => requests)).toEqual([1]);
});

// Tables: whether a lane is a tail, and whether it waits for money, by the accounts' answers.

import { expect, test } from "vitest";
import { isLeft, lacksMoney, type SealRefusal, tailOf } from "../../../../src/dispatch/batches/seal/tail.ts";

const few = (account: string, minRequests: number, booked = 0): SealRefusal => ({
  ...{ account, reason: "too_few", minRequests, booked },
});
const large: SealRefusal = { account: "small", reason: "head_too_large", minRequests: 1, booked: 0 };
const full: SealRefusal = { account: "full", reason: "no_headroom", minRequests: 1, booked: 2 };
const short = (account: string, minRequests: number, booked = 0): SealRefusal => ({
  ...{ account, reason: "price_limit", minRequests, booked },
});
const lane = (ready: number, deferredUntil: number | null = null) => ({ ready, deferredUntil });

test.each([
  ["fewer than the only account takes are one", lane(30), 1, [few("a", 100)], "a"],
  ["fewer than the lowest minimum are one", lane(30), 2, [few("a", 100), few("b", 50)], "b"],
  ["also while the account has batches", lane(30), 1, [few("a", 100, 3)], "a"],
  ["also where the other account is too small for the first of them", lane(30), 2, [few("a", 100), large], "a"],
  ["enough for the minimum, cut by room in use, are none", lane(150), 1, [few("a", 100, 1)], undefined],
  ["enough for the minimum, cut with all the room free, are one", lane(150), 1, [few("a", 100)], "a"],
  ["an account that was not asked may take them later", lane(30), 2, [few("a", 100)], undefined],
  ["an account without room may take them later", lane(30), 2, [few("a", 100), full], undefined],
  ["those that are tried again may join them", lane(30, 5), 1, [few("a", 100)], undefined],
  ["what is too large is no tail", lane(30), 1, [large], undefined],
])("%s", (_name, waiting, serving, refusals, account) => {
  expect(tailOf(waiting, serving, refusals)?.account).toBe(account);
});

test("a batch that one account refuses for its price goes to the fallback accounts once none of its batches runs", () => {
  expect(isLeft(lane(150), 1, [short("a", 100)])).toBe(true);
  expect(isLeft(lane(150), 1, [short("a", 100, 1)])).toBe(false);
});

test.each([
  ["an account that takes one request needs the least money", { a: 1 }, [short("a", 1)], true],
  ["one that takes more needs no less", { a: 10, b: 100 }, [short("a", 10)], true],
  ["one that takes fewer and was not asked may need less", { a: 10, b: 1 }, [short("a", 10)], false],
  ["one that takes fewer and has no room waits for that", { a: 10, full: 1 }, [short("a", 10), full], false],
  ["one that is too small for the first never takes it", { a: 10, small: 1 }, [short("a", 10), large], true],
  ["without a refusal for the price it is not money", { a: 100 }, [few("a", 100)], false],
])("of requests that wait for money: %s", (_name, minima, refusals, lacks) => {
  const serving = Object.entries(minima).map(([name, minRequests]) => ({ name, minRequests }));
  expect(lacksMoney(serving, refusals)).toBe(lacks);
});

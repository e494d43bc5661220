// Chooses the requests that a seal claims, or the reason why it claims none. Takes the lane in
// claim order and the ledger's remainder; returns a prefix or a refusal. Pure.

import type { SealInput } from "../../contract/store/calls.ts";
import type { LedgerLimits } from "../../contract/store/ledger-rows.ts";
import { type Headroom, headRefusal, type Refusal } from "../../contract/store/refusal.ts";
import type { MemoryRequest } from "./records.ts";
import { known } from "./waiting.ts";

export interface Chosen {
  readonly members: readonly MemoryRequest[];
  readonly bytes: number;
  readonly tokens: number;
  readonly deadlineAt: number | null;
  readonly price: number;
}

export function choose(
  lane: readonly MemoryRequest[],
  left: Headroom,
  /** What is left of its payers' limits. */
  room: number,
  input: SealInput,
): Chosen | Refusal {
  const order = lane.filter(
    ({ notBefore, deadlineAt }) => notBefore <= input.now && (deadlineAt === null || deadlineAt > input.now),
  );
  const first = order[0];
  const head = first === undefined ? null : { id: first.id, bytes: first.bytes, tokens: first.tokens };
  const refuse = (reason: Refusal["reason"]): Refusal => ({ ok: false, reason, head });
  const reason = headRefusal(head, left, input);
  if (reason !== null) return refuse(reason);
  const least = order.slice(0, input.minRequests);
  if (least.length === input.minRequests && paid(least, room) < least.length) return refuse("price_limit");
  const fitting = order.slice(0, prefix(order, left, input));
  const count = allowed(paid(fitting, room), input.avoidCounts);
  return count < input.minRequests ? refuse("too_few") : sum(order.slice(0, count));
}

/** How many of these the payers can pay, in order. */
function paid(order: readonly MemoryRequest[], room: number): number {
  let price = 0;
  const first = order.findIndex((request) => {
    price += request.price ?? 0;
    return price > room;
  });
  return first === -1 ? order.length : first;
}

/** How many of the first requests fit under all caps together. */
function prefix(order: readonly MemoryRequest[], left: LedgerLimits, input: SealInput): number {
  const most = Math.min(input.maxRequests, left.requests);
  const mostTokens = Math.min(input.maxTokens, left.tokens);
  let [count, bytes, tokens] = [0, 0, 0];
  for (const request of order) {
    bytes += request.bytes;
    tokens += request.tokens;
    if (count + 1 > most || bytes > input.maxBytes || tokens > mostTokens) break;
    count += 1;
  }
  return count;
}

function allowed(count: number, avoid: readonly number[]): number {
  let left = count;
  while (left > 1 && avoid.includes(left)) left -= 1;
  return left;
}

function sum(members: readonly MemoryRequest[]): Chosen {
  let [bytes, tokens, price, deadlineAt] = [0, 0, 0, Number.POSITIVE_INFINITY];
  for (const member of members) {
    bytes += member.bytes;
    tokens += member.tokens;
    price += member.price ?? 0;
    deadlineAt = Math.min(deadlineAt, member.deadlineAt ?? Number.POSITIVE_INFINITY);
  }
  return { members, bytes, tokens, price, deadlineAt: known(deadlineAt) };
}

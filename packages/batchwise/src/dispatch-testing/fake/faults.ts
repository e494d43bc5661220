// The queue of scripted faults. Selects the fault for the next call, first in, first out, and
// applies it to the answer. Shared by all fakes.

import type { Clock } from "../../core/time/clock.ts";
import { DROPPED, jsonReply, Refusal, type Reply } from "./exchange.ts";
import type { FakeFault, FakeOperation } from "./fault-types.ts";

export class FaultBook {
  readonly #random: () => number;
  readonly #now: () => number;
  /** Number of calls that a fault has hit. */
  hits = 0;
  #entries: { readonly fault: FakeFault; left: number }[] = [];

  constructor(random: () => number, now: () => number) {
    this.#random = random;
    this.#now = now;
  }

  add(fault: FakeFault): void {
    this.#entries.push({ fault, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#entries = [];
  }

  /** Takes the fault for this call and counts it down; null if there is none. */
  take(operation: FakeOperation): FakeFault | null {
    for (const entry of this.#entries) {
      const { fault } = entry;
      const hits = fault.on === operation || (Array.isArray(fault.on) && fault.on.includes(operation));
      if (!hits || entry.left <= 0) continue;
      if (fault.until !== undefined && fault.until <= this.#now()) continue;
      if (fault.chance !== undefined && this.#random() >= fault.chance) continue;
      if (fault.until === undefined) entry.left -= 1;
      this.hits += 1;
      this.#entries = this.#entries.filter(({ left }) => left > 0);
      return fault;
    }
    return null;
  }
}

const NEWLINE = 10;
const encoder = new TextEncoder();

/**
 * Runs the call under the fault, if any. `refuse` writes a scripted status in the error format of
 * its surface.
 */
export async function answerUnder(
  fault: FakeFault | null,
  clock: Clock,
  run: () => Reply,
  refuse: (refusal: Refusal) => Reply,
): Promise<Reply | typeof DROPPED> {
  if (fault === null) return run();
  await sleep(clock, fault.delayMs ?? 0);
  const reply = fault.accept === false ? null : run();
  await sleep(clock, fault.replyDelayMs ?? 0);
  const wanted = fault.reply ?? "answer";
  if (wanted === "drop") return DROPPED;
  if (wanted === "answer") return reply ?? DROPPED;
  if ("cutAtBytes" in wanted) {
    return reply === null ? DROPPED : { ...reply, cutAt: Math.min(wanted.cutAtBytes, reply.body.length) };
  }
  if ("endAfterLines" in wanted) {
    return reply === null ? DROPPED : { ...reply, body: firstLines(reply.body, wanted.endAfterLines) };
  }
  if ("edit" in wanted) {
    return reply === null
      ? DROPPED
      : { ...reply, body: encoder.encode(wanted.edit(new TextDecoder().decode(reply.body))) };
  }
  const { status, body, text, headers } = wanted;
  if (text !== undefined) return { ...textReply(text, status), headers: { "content-type": "text/html", ...headers } };
  if (body !== undefined) return jsonReply(body, status, headers);
  const code = status === 429 ? "rate_limit_exceeded" : "scripted";
  return refuse(new Refusal(status, code, `Scripted answer ${status}.`, { headers }));
}

function textReply(text: string, status: number): Omit<Reply, "headers"> {
  return { status, body: encoder.encode(text), cutAt: null };
}

function firstLines(body: Uint8Array, count: number): Uint8Array {
  let end = 0;
  for (let lines = 0; lines < count && end < body.length; lines += 1) {
    const found = body.indexOf(NEWLINE, end);
    end = found < 0 ? body.length : found + 1;
  }
  return body.subarray(0, end);
}

function sleep(clock: Clock, ms: number): Promise<void> {
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    clock.setTimeout(resolve, ms);
  });
}

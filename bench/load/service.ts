/**
 * The simulated backend: a call takes a fixed time, and more for each item. It counts its calls and
 * items.
 */
import type { Handler } from "../peers/contract.ts";
import type { Pulse } from "./pulse.ts";

export interface Service {
  readonly handler: Handler;
  /** Calls and items so far. */
  counts(): { readonly calls: number; readonly items: number };
}

export interface ServiceTime {
  readonly fixedMs: number;
  readonly perItemMs: number;
}

function count(handler: (items: readonly number[]) => Promise<readonly number[]>): Service {
  let calls = 0;
  let items = 0;
  return {
    handler: (batch) => {
      calls += 1;
      items += batch.length;
      return handler(batch);
    },
    counts: () => ({ calls, items }),
  };
}

/** Takes exactly the configured time. */
export function exactService(pulse: Pulse, { fixedMs, perItemMs }: ServiceTime): Service {
  return count(
    (items) =>
      new Promise((resolve) => {
        pulse.at(performance.now() + fixedMs + perItemMs * items.length, () => resolve(items));
      }),
  );
}

/** Sleeps on a timer, rounded up to a whole millisecond, as Python's asyncio does with epoll. */
export function roundedService({ fixedMs, perItemMs }: ServiceTime): Service {
  return count(
    (items) =>
      new Promise((resolve) => {
        setTimeout(() => resolve(items), Math.ceil(fixedMs + perItemMs * items.length));
      }),
  );
}

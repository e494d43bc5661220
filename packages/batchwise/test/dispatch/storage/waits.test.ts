import { describe, expect, test, vi } from "vitest";
import { chunksWithin, within } from "../../../src/dispatch/storage/waits.ts";

const never = (): Promise<never> => new Promise(() => {});
const signal = new AbortController().signal;

describe("a wait", () => {
  test("ends with the work's result or error, and clears its timer", async () => {
    vi.useFakeTimers();
    try {
      const mine = new Error("mine");
      expect(await within({ signal, timeoutMs: 50 }, async () => 1)).toBe(1);
      await expect(within({ signal, timeoutMs: 50 }, () => Promise.reject(mine))).rejects.toBe(mine);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("ends after `timeoutMs`, of any length, and aborts the work", async () => {
    let told: unknown;
    const wait = within({ signal, timeoutMs: 5 }, (cut) => {
      cut.addEventListener("abort", () => {
        told = cut.reason;
      });
      return never();
    });
    await expect(wait).rejects.toMatchObject({ name: "TimeoutError" });
    expect(told).toMatchObject({ message: "The storage made no progress for 5 ms." });
    expect(await within({ signal, timeoutMs: Number.POSITIVE_INFINITY }, async () => 2)).toBe(2);
  });

  test("ends with the reason of the call's signal, before it begins too", async () => {
    const [mine, giveUp] = [new Error("enough"), new AbortController()];
    const wait = within({ signal: giveUp.signal, timeoutMs: 1_000 }, never);
    giveUp.abort(mine);
    await expect(wait).rejects.toBe(mine);
    const begun = vi.fn(never);
    await expect(within({ signal: giveUp.signal, timeoutMs: 1_000 }, begun)).rejects.toBe(mine);
    expect(begun).not.toHaveBeenCalled();
  });
});

describe("a download", () => {
  async function* stuck(ended: () => void): AsyncGenerator<Uint8Array> {
    try {
      yield new Uint8Array(1);
      await never();
    } finally {
      ended();
    }
  }

  test("counts only the time in which it is waited for", async () => {
    async function* two(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(1);
      yield new Uint8Array(1);
    }
    let chunks = 0;
    for await (const _ of chunksWithin({ signal, timeoutMs: 10 }, two())) {
      chunks += 1;
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    expect(chunks).toBe(2);
  });

  test("that is abandoned is closed, and one that is stuck holds no other", async () => {
    const ended = vi.fn();
    for await (const _ of chunksWithin({ signal, timeoutMs: 10 }, stuck(ended))) break;
    expect(ended).toHaveBeenCalledOnce();
    const read = async (): Promise<void> => {
      for await (const _ of chunksWithin({ signal, timeoutMs: 10 }, stuck(ended)));
    };
    await expect(read()).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test("that can be destroyed is destroyed, unless it came to its end", async () => {
    const destroy = vi.fn();
    async function* one(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(1);
    }
    for await (const _ of chunksWithin({ signal, timeoutMs: 10 }, Object.assign(one(), { destroy })));
    expect(destroy).not.toHaveBeenCalled();
    for await (const _ of chunksWithin({ signal, timeoutMs: 10 }, Object.assign(one(), { destroy }))) break;
    expect(destroy).toHaveBeenCalledOnce();
  });
});

import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Watcher, Watches } from "../../src/core/submit/abort-signals.ts";

interface Named extends Watcher {
  readonly name: number;
}

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

function group(count: number): { watchers: Named[]; told: [number, unknown][] } {
  const told: [number, unknown][] = [];
  const watchers = Array.from({ length: count }, (_, name) => ({
    name,
    watchIndex: 0,
    depart: () => true,
    aborted: (reason: unknown) => told.push([name, reason]),
  }));
  return { watchers, told };
}

describe("watched signals", () => {
  test("have one listener each, however many watch", () => {
    const watches = new Watches();
    const abort = new AbortController();
    for (const watcher of group(1_000).watchers) watches.add(abort.signal, watcher);
    expect(listenersOf(abort.signal)).toBe(1);
  });

  test("tell everyone who still watches, with the signal's own reason", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), fc.nat(), (leaves, turn) => {
        const watches = new Watches();
        const abort = new AbortController();
        const { watchers, told } = group(leaves.length);
        const watch = watchers.map((watcher) => watches.add(abort.signal, watcher))[0];
        const order = watchers.toSorted((a, b) => ((a.name * 7 + turn) % 11) - ((b.name * 7 + turn) % 11));
        for (const watcher of order) if (leaves[watcher.name]) watch?.remove(watcher);
        const left = watchers.filter(({ name }) => !leaves[name]).map(({ name }) => name);
        expect(listenersOf(abort.signal)).toBe(left.length === 0 ? 0 : 1);
        abort.abort("why");
        expect(told.map(([name]) => name).toSorted((a, b) => a - b)).toEqual(left);
        expect(told.every(([, reason]) => reason === "why")).toBe(true);
      }),
    );
  });

  test("are let go of when the last watcher leaves, and taken up again after that", () => {
    const watches = new Watches();
    const abort = new AbortController();
    const [a, b] = group(2).watchers as [Named, Named];
    watches.add(abort.signal, a).remove(a);
    expect(listenersOf(abort.signal)).toBe(0);
    watches.add(abort.signal, b);
    expect(listenersOf(abort.signal)).toBe(1);
  });

  test("survive a watcher that leaves while all are told", () => {
    const watches = new Watches();
    const abort = new AbortController();
    const told: string[] = [];
    const late: Watcher = { watchIndex: 0, depart: () => true, aborted: () => told.push("late") };
    const early: Watcher = {
      watchIndex: 0,
      depart: () => true,
      aborted: () => {
        told.push("early");
        watch.remove(early);
      },
    };
    const watch = watches.add(abort.signal, early);
    watches.add(abort.signal, late);
    abort.abort();
    expect(told).toEqual(["early", "late"]);
  });

  test("tell nobody before all have left, and nobody who had left already", () => {
    const watches = new Watches();
    const abort = new AbortController();
    const steps: string[] = [];
    for (const name of ["a", "b", "gone"]) {
      watches.add(abort.signal, {
        watchIndex: 0,
        depart: () => steps.push(`${name} leaves`) > 0 && name !== "gone",
        aborted: () => steps.push(`${name} is told`),
      });
    }
    abort.abort();
    expect(steps).toEqual(["a leaves", "b leaves", "gone leaves", "a is told", "b is told"]);
  });

  test("survive a signal that will not let go of its listener", () => {
    const watches = new Watches();
    const signal = Object.assign(new EventTarget(), { aborted: false, reason: undefined }) as unknown as AbortSignal;
    signal.removeEventListener = () => {
      throw new Error("no");
    };
    const [watcher] = group(1).watchers as [Named];
    expect(() => watches.add(signal, watcher).remove(watcher)).not.toThrow();
  });
});

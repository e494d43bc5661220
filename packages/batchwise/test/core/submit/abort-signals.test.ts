import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AbortSignals, type SharedSignal, type SignalListener } from "../../../src/core/submit/abort-signals.ts";
import { unreadable } from "../../abuse/objects.ts";
import { range } from "../../support.ts";

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

function signalsOf(): AbortSignals {
  return new AbortSignals({ inOneStep: (work) => work() });
}

interface Named extends SignalListener {
  readonly name: number;
  shared: SharedSignal | null;
}

/** Listeners that leave their signal when called, as callers do. */
function group(count: number): { listeners: Named[]; told: [number, unknown][] } {
  const told: [number, unknown][] = [];
  const listeners = range(count).map((name) => {
    const listener: Named = {
      name,
      signalIndex: 0,
      shared: null,
      leave: () => {
        if (listener.shared === null) return false;
        listener.shared.remove(listener);
        listener.shared = null;
        return true;
      },
      aborted: (reason) => told.push([name, reason]),
    };
    return listener;
  });
  return { listeners, told };
}

describe("signals of callers", () => {
  test("have one listener each, and reject all remaining callers once, with the signal's own reason", () => {
    const step = fc.record({ place: fc.nat(29), signal: fc.nat(2), leaves: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
        const signals = signalsOf();
        const controllers = range(3).map(() => new AbortController());
        const { listeners, told } = group(30);
        const of = new Map<Named, number>();
        const namesOf = (signal: number): number[] =>
          listeners.filter((listener) => of.get(listener) === signal).map(({ name }) => name);
        for (const { place, signal, leaves } of steps) {
          const listener = listeners[place] as Named;
          if (leaves) {
            listener.leave();
            of.delete(listener);
          } else if (listener.shared === null) {
            listener.shared = signals.add((controllers[signal] as AbortController).signal, listener);
            of.set(listener, signal);
          }
          const counts = controllers.map((controller) => listenersOf(controller.signal));
          expect(counts).toEqual(range(3).map((index) => Math.min(1, namesOf(index).length)));
        }
        for (const [index, controller] of controllers.entries()) {
          told.length = 0;
          controller.abort(index);
          expect(told.toSorted(([a], [b]) => a - b)).toEqual(namesOf(index).map((name) => [name, index]));
          expect(listenersOf(controller.signal)).toBe(0);
        }
      }),
    );
  });

  test("reject in one step, after all are removed, and skip callers already removed", () => {
    let isInStep = false;
    const signals = new AbortSignals({
      inOneStep: (work) => {
        isInStep = true;
        work();
        isInStep = false;
      },
    });
    const abort = new AbortController();
    const steps: string[] = [];
    for (const name of ["a", "b", "gone"]) {
      signals.add(abort.signal, {
        signalIndex: 0,
        leave: () => steps.push(`${name} leaves ${isInStep}`) > 0 && name !== "gone",
        aborted: () => steps.push(`${name} is told ${isInStep}`),
      });
    }
    abort.abort();
    const left = ["a leaves true", "b leaves true", "gone leaves true"];
    expect(steps).toEqual([...left, "a is told true", "b is told true"]);
  });

  test("are released when the last listener is removed, and listened to again after that", () => {
    const signals = signalsOf();
    const { signal } = new AbortController();
    const [a, b] = group(2).listeners as [Named, Named];
    const first = signals.add(signal, a);
    first.remove(a);
    expect(listenersOf(signal)).toBe(0);
    expect(signals.add(signal, b)).not.toBe(first);
    expect(listenersOf(signal)).toBe(1);
  });

  test("whose reason cannot be read reject with the error of reading it", () => {
    const signals = signalsOf();
    const target = Object.assign(new EventTarget(), { aborted: false });
    const signal = unreadable("reason", target) as AbortSignal;
    const { listeners, told } = group(2);
    for (const listener of listeners) listener.shared = signals.add(signal, listener);
    signal.dispatchEvent(new Event("abort"));
    expect(told).toEqual([0, 1].map((name) => [name, new Error("read")]));
  });

  test("that cannot remove their listener fail no caller", () => {
    const signals = signalsOf();
    const signal = Object.assign(new EventTarget(), { aborted: false, reason: undefined }) as unknown as AbortSignal;
    signal.removeEventListener = () => {
      throw new Error("no");
    };
    const [listener] = group(1).listeners as [Named];
    expect(() => signals.add(signal, listener).remove(listener)).not.toThrow();
  });
});

import { describe, expect, test } from "vitest";
import { nextSlice, sliceIsOver } from "../../../src/onnx/text/time-slices.ts";

function busy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe("long work in slices", () => {
  test("takes no more of a pass of the event loop when forty do it than when one does", async () => {
    let passes = 0;
    let over = false;
    const count = (): void => {
      passes += 1;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    const work = async (): Promise<void> => {
      for (let step = 0; step < 10; step += 1) {
        if (sliceIsOver()) await nextSlice();
        busy(1);
      }
    };
    await Promise.all(Array.from({ length: 40 }, work));
    over = true;
    // 400 ms of work: slices of their own would be 10 passes, one for all.
    expect(passes).toBeGreaterThan(40);
  });

  test("goes on in the order in which it waits", async () => {
    const order: number[] = [];
    await Promise.all([1, 2, 3].map((one) => nextSlice().then(() => order.push(one))));
    expect(order).toEqual([1, 2, 3]);
  });
});

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inSlices } from "../../../src/onnx/text/time-slices.ts";

function busy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

let pass = 0;
let counting = true;

beforeEach(() => {
  counting = true;
  const count = (): void => {
    pass += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
});

afterEach(() => {
  counting = false;
});

/** How many of these passes there were at most in one. */
function mostInOnePass(passes: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const one of passes) counts.set(one, (counts.get(one) ?? 0) + 1);
  return Math.max(...counts.values());
}

describe("pieces of work longer than a slice", () => {
  const work = (ran: number[]) => (): void => {
    ran.push(pass);
    busy(5);
  };

  test("run one a pass, of many callers with one piece each as well", async () => {
    const ran: number[] = [];
    await Promise.all(Array.from({ length: 16 }, () => inSlices(work(ran), true)));
    expect(ran.length).toBe(16);
    // Two if the count of passes changes between them.
    expect(mostInOnePass(ran)).toBeLessThanOrEqual(2);
  });

  test("of one caller run one a pass too", async () => {
    const ran: number[] = [];
    for (let piece = 0; piece < 16; piece += 1) await inSlices(work(ran), false);
    expect(mostInOnePass(ran)).toBeLessThanOrEqual(2);
  });
});

test("a caller with one piece goes before callers with many, who get every other pass", async () => {
  const order: string[] = [];
  const take = (name: string) => (): void => {
    order.push(name);
    busy(5);
  };
  const many = async (): Promise<void> => {
    for (let piece = 0; piece < 6; piece += 1) await inSlices(take("many"), false);
  };
  const all = [many(), ...["a", "b", "c"].map((name) => inSlices(take(name), true))];
  await Promise.all(all);
  expect(order.filter((name) => name !== "many")).toEqual(["a", "b", "c"]);
  expect(order.indexOf("c")).toBeLessThan(order.length - 1);
  expect(order.filter((name) => name === "many").length).toBe(6);
});

test("the error of a piece rejects only its caller, and the next continues", async () => {
  const fails = inSlices(() => {
    busy(5);
    throw new RangeError("no");
  }, true);
  const next = inSlices(() => 7, true);
  await expect(fails).rejects.toThrow("no");
  expect(await next).toBe(7);
});

import { cpSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { built, scratchFolder } from "../house/repository.ts";
import { reasonOf } from "../support.ts";

type Package = typeof import("batchwise");

// Two dependencies of an application may each bring a copy of the library.
const folder = scratchFolder("two-copies");
let one: Package;
let two: Package;

beforeAll(async () => {
  const dist = built("index.js").replace(/index\.js$/, "");
  for (const name of ["one", "two"]) {
    cpSync(dist, `${folder}${name}/dist`, { recursive: true });
    cpSync(`${dist}../src`, `${folder}${name}/src`, { recursive: true });
  }
  writeFileSync(`${folder}package.json`, `{ "type": "module" }`);
  [one, two] = (await Promise.all(
    ["one", "two"].map((name) => import(/* @vite-ignore */ `${folder}${name}/dist/index.js`) as Promise<Package>),
  )) as [Package, Package];
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("two copies of the package", () => {
  test("are two: their classes are not the same", () => {
    expect(one.BatchwiseError).not.toBe(two.BatchwiseError);
    expect(one.createBatcher).not.toBe(two.createBatcher);
  });

  test("know each other's errors, by class and by code", async () => {
    const closed = one.createBatcher((items: number[]) => items);
    await closed.close();
    const error = await reasonOf(closed.submit(1));
    expect(error).toBeInstanceOf(one.BatchwiseError);
    expect(error).toBeInstanceOf(two.BatchwiseError);
    expect(error).toMatchObject({ code: "CLOSED" });
    expect(new Error("other")).not.toBeInstanceOf(two.BatchwiseError);
  });

  test("pass each other's errors on to callers unwrapped", async () => {
    const inner = one.createBatcher((): number[] => []);
    const outer = two.createBatcher((items: number[]) => items.map((item) => inner.submit(item)));
    const error = await reasonOf(outer.submit(1));
    expect(error).toBeInstanceOf(two.BatchwiseError);
    expect(error).toMatchObject({ code: "BATCH_RESULT" });
  });

  test("understand each other's DONE and SKIP", async () => {
    expect(one.DONE).toBe(two.DONE);
    expect(one.SKIP).toBe(two.SKIP);
    const count = one.batchStream(async function* (items: number[]) {
      for (let round = 0; ; round += 1) {
        yield items.map((item) => (round % 2 === 0 ? two.SKIP : round > item ? two.DONE : round));
      }
    });
    const chunks: unknown[] = [];
    for await (const chunk of count(4)) chunks.push(chunk);
    expect(chunks).toEqual([1, 3]);
  });

  test("keep their batchers apart", async () => {
    const sizes: number[] = [];
    const handler = (items: number[]): number[] => {
      sizes.push(items.length);
      return items;
    };
    await Promise.all([one.createBatcher(handler).submit(1), two.createBatcher(handler).submit(2)]);
    expect(sizes).toEqual([1, 1]);
  });
});

import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { PreparedOptions } from "../../../src/core/contract/resolve-options.ts";
import { Gathering } from "../../../src/core/engine/gathering.ts";
import type { BatchRun } from "../../../src/core/run/batch-run.ts";

type Options = PreparedOptions["options"];

function optionsOf(given: object): Options {
  return new PreparedOptions(given).options;
}

/** A batch that has begun in this turn. */
function youngRun(): BatchRun {
  return { isYoung: true } as BatchRun;
}

const nextTask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A gathering whose last batch settled in the turn in which it began, or later. */
async function after(wasQuick: boolean, options: Options, onPassEnd: () => void = () => {}): Promise<Gathering> {
  const gathering = new Gathering(onPassEnd);
  const run = youngRun();
  gathering.began(run, options);
  if (!wasQuick) await nextTask();
  gathering.ended(run);
  return gathering;
}

const tickClock = Object.assign(virtualClock(), { setImmediate: () => {} });

describe("a batch that is not full", () => {
  const table: [gather: string, maxWaitMs: number, clock: object, wasQuick: boolean, isByPass: boolean][] = [
    ["auto", 0, {}, true, true],
    ["auto", 0, {}, false, false],
    ["auto", 5, {}, true, false],
    ["auto", 0, { clock: tickClock }, true, false],
    ["tick", 0, {}, false, true],
    ["tick", 0, { clock: tickClock }, false, true],
    ["tick", 5, {}, true, false],
    ["turn", 0, {}, true, false],
  ];
  test.each(table)(
    "with %s, maxWaitMs %d, %o, a quick handler: %s, gathers to the end of the pass: %s",
    async (...row) => {
      const [gather, maxWaitMs, clock, wasQuick, isByPass] = row;
      const options = optionsOf({ gather, maxWaitMs, ...clock });
      expect((await after(wasQuick, options)).isByPass(options)).toBe(isByPass);
    },
  );

  test("gathers to the end of the turn where no batch has ended yet", () => {
    const options = optionsOf({});
    expect(new Gathering(() => {}).isByPass(options)).toBe(false);
  });

  test("gathers as the last batch says, not as any before it", async () => {
    const options = optionsOf({});
    const gathering = await after(true, options);
    const slow = youngRun();
    gathering.began(slow, options);
    await nextTask();
    gathering.ended(slow);
    expect(gathering.isByPass(options)).toBe(false);
  });
});

describe("the end of the pass", () => {
  test("is told once, however often it is waited for, and again the next time", async () => {
    let ends = 0;
    const gathering = new Gathering(() => {
      ends += 1;
    });
    for (const round of [1, 2]) {
      for (let times = 0; times < 3; times += 1) gathering.waitForPass(optionsOf({}));
      expect(ends).toBe(round - 1);
      await nextTask();
      await nextTask();
      expect(ends).toBe(round);
    }
  });

  test("can be waited for again from its own call", async () => {
    let ends = 0;
    const gathering: Gathering = new Gathering(() => {
      ends += 1;
      if (ends < 3) gathering.waitForPass(optionsOf({}));
    });
    gathering.waitForPass(optionsOf({}));
    for (let task = 0; task < 5; task += 1) await nextTask();
    expect(ends).toBe(3);
  });

  test("is that of an injected clock, where there is one", () => {
    const waiting: (() => void)[] = [];
    const clock = Object.assign(virtualClock(), { setImmediate: (callback: () => void) => waiting.push(callback) });
    let ends = 0;
    const gathering = new Gathering(() => {
      ends += 1;
    });
    gathering.waitForPass(optionsOf({ gather: "tick", clock }));
    gathering.waitForPass(optionsOf({ gather: "tick", clock }));
    expect([waiting.length, ends]).toEqual([1, 0]);
    waiting[0]?.();
    expect(ends).toBe(1);
  });
});

// Jest runs modules in a VM of its own, with a registry of its own: the CommonJS build by default,
// the ES one with Node's flag for VM modules.

import { describe, expect, test } from "vitest";
import { Project, specifiers } from "../../../packages/batchwise/test/tools/project.ts";
import { home } from "../recipes.ts";

const names = JSON.stringify(specifiers);

const body = `
  test("every entry loads", async () => {
    for (const name of ${names}) expect(Object.keys(await load(name)).length).toBeGreaterThan(0);
  });
  test("items travel together", async () => {
    const { batch, BatchwiseError } = await load("batchwise");
    const sizes = [];
    const double = batch((items) => { sizes.push(items.length); return items.map((item) => item * 2); });
    expect(await Promise.all([1, 2, 3].map((item) => double(item)))).toEqual([2, 4, 6]);
    expect(sizes).toEqual([3]);
    await double.close();
    await expect(double(4)).rejects.toBeInstanceOf(BatchwiseError);
  });
  test("fake timers reach a wait", async () => {
    const { createBatcher } = await load("batchwise");
    jest.useFakeTimers();
    const batcher = createBatcher((items) => items, { maxWaitMs: 1_000 });
    const answer = batcher.submit("late");
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await answer).toBe("late");
    jest.useRealTimers();
  });
`;
const modes = {
  CommonJS: { file: "one.test.js", text: `const load = async (name) => require(name);\n${body}`, flags: "" },
  "ES modules": {
    file: "one.test.mjs",
    text: `const { jest } = import.meta;\nconst load = (name) => import(name);\n${body}`,
    flags: "--experimental-vm-modules --no-warnings",
  },
};

describe.each(["jest-29", "jest-30"])("%s", (jest) => {
  test.each(Object.keys(modes))("runs tests that use the library, as %s", (mode) => {
    const { file, text, flags } = modes[mode as keyof typeof modes];
    const config = { testMatch: ["**/*.test.*js"], transform: {} };
    const project = new Project("jest", { [file]: text, "jest.config.json": config }, home);
    const { status, output } = project.run(`${jest}/bin/jest.js`, ["--runInBand", "--no-cache", "--watchman=false"], {
      NODE_OPTIONS: flags,
    });
    expect({ status, output }).toMatchObject({ status: 0, output: expect.stringContaining("3 passed, 3 total") });
  });
});

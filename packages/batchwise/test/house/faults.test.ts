import { describe, expect, test } from "vitest";
import { faults } from "../../../../scripts/faults.ts";
import { textOf } from "./repository.ts";

describe("the deliberate faults", () => {
  test.each(faults)("$name: its piece is in the sources exactly once", ({ file, find, replace }) => {
    const pieces = textOf(`packages/batchwise/src/core/${file}`).split(find);
    expect(pieces).toHaveLength(2);
    expect(replace).not.toBe(find);
  });
});

import { describe, expect, test } from "vitest";
import { dispatcherFaults } from "../../../../../scripts/faults/dispatcher.ts";
import { engineFaults } from "../../../../../scripts/faults/engine.ts";
import { textOf } from "../repository.ts";

describe("the deliberate faults", () => {
  test.each([...engineFaults, ...dispatcherFaults])(
    "$name: its piece is in the sources exactly once",
    ({ file, find, replace }) => {
      const pieces = textOf(`packages/batchwise/src/${file}`).split(find);
      expect(pieces).toHaveLength(2);
      expect(replace).not.toBe(find);
    },
  );
});

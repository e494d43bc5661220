import { expect, test } from "vitest";
import * as lists from "../../../../../scripts/test-files.ts";
import { filesMatching } from "../repository.ts";

test.each(Object.entries(lists))("each file that is listed under %s is there", (_name, patterns) => {
  expect(patterns.filter((pattern) => filesMatching(pattern).length === 0)).toEqual([]);
});

import { describe, expect, test } from "vitest";
import { type Claim, verdictOf } from "./section.ts";

const claim = (sense: Claim["sense"], measured: number, unit = "x"): Claim => ({
  text: "a claim",
  measured,
  sense,
  limit: 2,
  unit,
});

describe("the verdict on a claim", () => {
  test.each([
    ["at most", 2, "met"],
    ["at most", 2.01, "close"],
    ["at most", 2.1, "close"],
    ["at most", 2.11, "missed"],
    ["below", 1.99, "met"],
    ["below", 2, "close"],
    ["below", 2.1, "missed"],
    ["at least", 2, "met"],
    ["at least", 1.9, "close"],
    ["at least", 1.89, "missed"],
    ["above", 2.01, "met"],
    ["above", 2, "close"],
    ["above", 1.9, "missed"],
  ] as const)("a ratio that has to be %s 2 is, at %d, %s", (sense, measured, verdict) => {
    expect(verdictOf(claim(sense, measured))).toBe(verdict);
  });

  test.each(["KiB", "µs", ""])("a figure in the unit `%s` has no tolerance", (unit) => {
    expect(verdictOf(claim("at most", 2, unit))).toBe("met");
    expect(verdictOf(claim("at most", 2.01, unit))).toBe("missed");
  });

  test("a target that was not measured is missed", () => {
    expect(verdictOf(claim("at most", Number.NaN))).toBe("missed");
    expect(verdictOf(claim("at least", Number.NaN))).toBe("missed");
  });
});

import { describe, expect, test } from "vitest";
import { boundMs, type Cell, cellsOf, estimateMs, gridOf, isWithPython, OFF } from "./plan.ts";

const everything = cellsOf({ quick: false });

describe("the plan of the inference benchmark", () => {
  test("has every model, number of clients and mix once, and those with targets first", () => {
    const names = everything.map(({ name }) => name);
    expect(new Set(names).size).toBe(2 * 3 * 3 + 2);
    expect(names.slice(0, 3)).toEqual(["minilm/64/short", "minilm/64/mixed", "minilm/64/long"]);
    expect(names.slice(3, 5)).toEqual(["ablation/short", "ablation/mixed"]);
  });

  test("takes at most 50 minutes, FastAPI and the grid included", () => {
    const ms = everything.reduce((sum, cell) => sum + estimateMs(cell, true, true), 0);
    expect(ms / 60_000).toBeLessThan(50);
  });

  test("has batching off in the grid of every cell, and no setting twice", () => {
    for (const cell of everything) {
      const names = gridOf(cell).map(({ name }) => name);
      expect(names).toContain(OFF);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  test("measures FastAPI beside the encoder of MiniLM's shape at 64 clients, where it is installed", () => {
    expect(everything.filter((cell) => isWithPython(cell, true)).map(({ name }) => name)).toEqual([
      "minilm/64/short",
      "minilm/64/mixed",
      "minilm/64/long",
    ]);
    expect(everything.some((cell) => isWithPython(cell, false))).toBe(false);
  });

  test("measures the model alone once for each model and mix, at 64 clients, in at most 30 seconds", () => {
    const bounded = everything.filter((cell) => boundMs(cell) > 0);
    expect(bounded.map(({ name }) => name)).toEqual([
      ...["minilm/64/short", "minilm/64/mixed", "minilm/64/long"],
      ...["tiny/64/short", "tiny/64/mixed", "tiny/64/long"],
    ]);
    for (const cell of bounded) expect(boundMs(cell)).toBeLessThanOrEqual(30_000);
  });

  test("counts the model alone in how long a cell takes", () => {
    const [cell] = everything as [Cell];
    const { bound: _, ...times } = cell.times;
    expect(estimateMs(cell, true, true) - estimateMs({ ...cell, times }, true, true)).toBeCloseTo(boundMs(cell));
  });

  test("of one's own texts has one mix", () => {
    const own = cellsOf({ quick: false, ownModel: { model: "a.onnx" }, ownTexts: "texts.txt" });
    expect(own.map(({ name }) => name)).toEqual(["own/64/texts", "ablation/texts", "own/8/texts", "own/1/texts"]);
    expect(own.every(({ texts }) => texts === "texts.txt")).toBe(true);
  });
});

/**
 * The texts of the inference benchmark: random short, mixed and long texts of meaningless words, or
 * texts of a file, one per line.
 */
import { readFileSync } from "node:fs";
import { seededRandom } from "../harness/numbers.ts";

export type Mix = "short" | "mixed" | "long";

export const MIXES: readonly Mix[] = ["short", "mixed", "long"];

/** The number of words of the next text. */
function wordsOf(mix: Mix, random: () => number): number {
  if (mix === "short") return 5 + Math.floor(random() * 12);
  if (mix === "long") return 120 + Math.floor(random() * 121);
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.min(250, Math.max(4, Math.round(25 * Math.exp(0.8 * normal))));
}

/** Endless texts, the same for the same seed. `mix`: one of MIXES, or the path of a file. */
export function* textsOf(mix: string, seed: number): Generator<string, never> {
  const random = seededRandom(seed);
  const lines = isMix(mix) ? undefined : linesOf(mix);
  for (;;) {
    if (lines !== undefined) yield lines[Math.floor(random() * lines.length)] as string;
    else
      yield Array.from({ length: wordsOf(mix as Mix, random) }, () => `word${Math.floor(random() * 8_000)}`).join(" ");
  }
}

function isMix(name: string): name is Mix {
  return (MIXES as readonly string[]).includes(name);
}

function linesOf(path: string): string[] {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  if (lines.length === 0) throw new RangeError(`Expected ${path} to have a text in each line, got none`);
  return lines;
}

/** The texts of the inference benchmark: short, mixed and long ones, of words that mean nothing. Pure. */
import { seededRandom } from "../harness/numbers.ts";

export type Mix = "short" | "mixed" | "long";

export const MIXES: readonly Mix[] = ["short", "mixed", "long"];

/** How many words the next text has. */
function wordsOf(mix: Mix, random: () => number): number {
  if (mix === "short") return 5 + Math.floor(random() * 12);
  if (mix === "long") return 120 + Math.floor(random() * 121);
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.min(250, Math.max(4, Math.round(25 * Math.exp(0.8 * normal))));
}

/** Texts without an end, the same ones for the same seed. */
export function* textsOf(mix: Mix, seed: number): Generator<string, never> {
  const random = seededRandom(seed);
  for (;;) {
    yield Array.from({ length: wordsOf(mix, random) }, () => `word${Math.floor(random() * 8_000)}`).join(" ");
  }
}

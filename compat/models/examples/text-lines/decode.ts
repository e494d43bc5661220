// Decodes the recogniser's probabilities to text: the most likely character at each place, without
// repetitions and blanks (greedy CTC decoding).

import type { Tensor } from "batchwise/tensor";

export interface ReadText {
  readonly text: string;
  /** Mean probability of the decoded characters: 0 to 1, and 0 if there are none. */
  readonly confidence: number;
}

/** The model returns one place per this many pixels of width. */
const PIXELS_PER_PLACE = 8;

/**
 * Decodes one line of `[1, places, signs]`. Sign 0 is the blank. Places beyond the line's own
 * `width` in pixels are padding and are ignored.
 *
 * @throws RangeError if a probability is not finite, as for a picture with NaN in it.
 */
export function decode({ data, dims }: Tensor<"float32">, signs: readonly string[], width: number): ReadText {
  const [, places = 0, count = 0] = dims;
  if (count !== signs.length) throw new RangeError(`Expected ${signs.length} signs, got ${count} from the model`);
  let text = "";
  let sum = 0;
  let read = 0;
  let previous = 0;
  for (let place = 0; place < Math.min(places, Math.ceil(width / PIXELS_PER_PLACE)); place += 1) {
    const { sign, probability } = likeliest(data, place * count, count);
    if (sign !== 0 && sign !== previous) {
      text += signs[sign];
      sum += probability;
      read += 1;
    }
    previous = sign;
  }
  return { text: text.trim(), confidence: read === 0 ? 0 : sum / read };
}

function likeliest(data: Float32Array, from: number, count: number): { sign: number; probability: number } {
  let sign = 0;
  let probability = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < count; at += 1) {
    const value = data[from + at] ?? Number.NaN;
    if (value > probability) {
      sign = at;
      probability = value;
    }
  }
  if (!Number.isFinite(probability))
    throw new RangeError("Expected finite probabilities, got none: are the pixels of the picture?");
  return { sign, probability };
}

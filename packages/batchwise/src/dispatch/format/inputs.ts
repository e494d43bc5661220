// How many inputs a request asks for: OpenAI limits those of a whole batch of embeddings, beside
// its requests. Requests whose counts differ little share a lane, so that a cap on the requests of
// a batch is one on its inputs too. Pure.

/**
 * One, or one for each entry of a list of texts or of token lists; a list of numbers is one input
 * in tokens.
 */
export function inputsOf(input: unknown): number {
  return Array.isArray(input) && typeof input[0] !== "number" ? Math.max(1, input.length) : 1;
}

/** The most inputs of a request in the lane of this one: the next power of two. */
export function laneInputs(inputs: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, inputs)));
}

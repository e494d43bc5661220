// Counts the inputs of a request. OpenAI limits the inputs of a whole embeddings batch, besides its
// requests. Requests with similar counts share a lane, so that a cap on requests also caps inputs.
// Pure.

/**
 * The entries of a list of texts or token lists; else 1. A list of numbers is one input of tokens.
 */
export function inputsOf(input: unknown): number {
  return Array.isArray(input) && typeof input[0] !== "number" ? Math.max(1, input.length) : 1;
}

/** The lane's maximum inputs per request: the next power of two. */
export function laneInputs(inputs: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, inputs)));
}

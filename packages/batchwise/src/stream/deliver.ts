// Delivers one place of a round: a chunk, DONE, SKIP or an Error goes to its caller's stream.
// Reading a place may call the user's code; an error thrown there fails only that caller.

import { isError, nameError } from "../core/contract/errors.ts";
import type { Channel } from "./channel.ts";
import { holeError } from "./errors.ts";
import { DONE, SKIP } from "./marks.ts";

/** A wrapped error: an object of its own, because the thrown value may be undefined. */
export interface Failure {
  readonly error: unknown;
}

/** Effect of one place of a round on its caller's stream. */
export type Delivered = "open" | "ended" | Failure;

/**
 * Delivers one place to its caller. An Error, a hole, or a place that cannot be read affects only
 * that caller. `name`: the batcher's name, for errors.
 */
export function deliver<Chunk>(
  channel: Channel<Chunk>,
  round: ArrayLike<unknown>,
  index: number,
  name: string,
): Delivered {
  let place: unknown;
  try {
    place = round[index];
    if (place === undefined && !(index in round)) throw holeError(round, index);
    if (isError(place)) throw place;
  } catch (error) {
    nameError(error, name);
    channel.fail(error);
    return { error };
  }
  if (place === DONE) {
    channel.end();
    return "ended";
  }
  if (place !== SKIP) channel.push(place as Chunk);
  return "open";
}

// A deliberate fault: one piece of a source that scripts/mutate.ts replaces by another. The piece
// must occur exactly once; if it no longer occurs, the fault must be rewritten, because it would
// show nothing.

export interface Fault {
  /** The wrong behaviour of the changed sources. */
  readonly name: string;
  /** File in packages/batchwise/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

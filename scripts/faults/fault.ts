// What a deliberate fault is: one piece of a source that scripts/mutate.ts replaces by another. The
// piece has to be there exactly once; a fault whose piece is gone must be written anew, or nothing
// would be shown by it.

export interface Fault {
  /** What the sources do wrong with it. */
  readonly name: string;
  /** File in packages/batchwise/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

// What the simulation reports: a promise of the streams that was not kept. Kept apart from the
// errors of the world.

/** Every violation of the world being run, also those thrown into a stream. */
export const violations: string[] = [];

export class Violation extends Error {
  constructor(message: string) {
    super(message);
    violations.push(message);
  }
}

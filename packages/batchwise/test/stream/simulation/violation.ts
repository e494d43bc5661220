// A broken promise of the streams, found by the simulation. A separate class from the errors of the
// world.

/** Every violation of the current world, including those thrown into a stream. */
export const violations: string[] = [];

export class Violation extends Error {
  constructor(message: string) {
    super(message);
    violations.push(message);
  }
}

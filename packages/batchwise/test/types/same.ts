// Exact equality of types, for the fixtures beside this file.

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only where both types are the same; the value is there to take the type from. */
export function same<A, B>(_value: A, _proof: Same<A, B>): void {}

// Operations that all SQL stores have, each a generator: it yields statements and is given what
// they answer. So one text serves a driver that answers at once and one that answers later. Each
// runs inside a transaction that its caller opens.

import type { SqlBound, Statement } from "./statement.ts";

export interface Step extends Statement {
  /** Its rows, or how many it changed. */
  readonly wants: "rows" | "count";
}

export type Steps<Result> = Generator<Step, Result, unknown>;

/** Thrown where another transaction came in between: undo, and once more from the start. */
export class Again extends Error {}

export function* all<Row>(sql: string, ...values: SqlBound[]): Steps<Row[]> {
  return (yield { sql, values, wants: "rows" }) as Row[];
}

export function* get<Row>(sql: string, ...values: SqlBound[]): Steps<Row | undefined> {
  return (yield* all<Row>(sql, ...values))[0];
}

/** Says how many rows the statement changed. */
export function* run(sql: string, ...values: SqlBound[]): Steps<number> {
  return (yield { sql, values, wants: "count" }) as number;
}

export function* runAll(statements: readonly Statement[]): Steps<void> {
  for (const { sql, values } of statements) yield* run(sql, ...values);
}

/** Runs the steps with a driver that answers at once. */
export function follow<Result>(steps: Steps<Result>, answer: (step: Step) => unknown): Result {
  let next = steps.next();
  while (!next.done) next = steps.next(answer(next.value));
  return next.value;
}

/** Runs the steps with a driver that answers later. */
export async function followLater<Result>(
  steps: Steps<Result>,
  answer: (step: Step) => Promise<unknown>,
): Promise<Result> {
  let next = steps.next();
  while (!next.done) next = steps.next(await answer(next.value));
  return next.value;
}

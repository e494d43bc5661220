// Operations that all SQL stores share, each a generator: it yields statements and receives their
// results. So one text serves synchronous and asynchronous drivers. Each runs inside a transaction
// that its caller opens.

import type { OutcomeStatus } from "../../contract/types.ts";
import type { SqlBound, Statement } from "./statement.ts";

export interface Step extends Statement {
  /** Its rows, or how many it changed. */
  readonly wants: "rows" | "count";
}

export type Steps<Result> = Generator<Step, Result, unknown>;

/** Thrown if another transaction interfered: roll back, and start again. */
export class Again extends Error {}

export function* all<Row>(sql: string, ...values: SqlBound[]): Steps<Row[]> {
  return (yield { sql, values, wants: "rows" }) as Row[];
}

export function* get<Row>(sql: string, ...values: SqlBound[]): Steps<Row | undefined> {
  return (yield* all<Row>(sql, ...values))[0];
}

/** Returns how many rows the statement changed. */
export function* run(sql: string, ...values: SqlBound[]): Steps<number> {
  return (yield { sql, values, wants: "count" }) as number;
}

export function* runAll(statements: readonly Statement[]): Steps<void> {
  for (const { sql, values } of statements) yield { sql, values, wants: "count" };
}

/** Runs the steps with a synchronous driver. */
export function follow<Result>(steps: Steps<Result>, answer: (step: Step) => unknown): Result {
  let next = steps.next();
  while (!next.done) next = steps.next(answer(next.value));
  return next.value;
}

/** Runs the steps with an asynchronous driver. */
export async function followLater<Result>(
  steps: Steps<Result>,
  answer: (step: Step) => Promise<unknown>,
): Promise<Result> {
  let next = steps.next();
  while (!next.done) next = steps.next(await answer(next.value));
  return next.value;
}

/** Adds to a stored counter: counting would cost more with every ended request. */
export function* count(name: "cursor" | "done" | "waiting" | OutcomeStatus, more: number): Steps<void> {
  if (more !== 0) yield* run("UPDATE batchwise_counter SET value = value + ? WHERE name = ?", more, name);
}

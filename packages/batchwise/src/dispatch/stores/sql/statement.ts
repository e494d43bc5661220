// A statement of the SQL stores: `?` stands for each value.

export type SqlValue = string | number | boolean | null;

/** A list is one value: see `among` of the dialect. */
export type SqlBound = SqlValue | readonly SqlValue[];

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlBound[];
}

/** The same statement with Postgres' numbered parameters. Our texts contain no other `?`. */
export function numbered({ sql }: Statement): string {
  let n = 0;
  return sql.replaceAll("?", () => {
    n += 1;
    return `$${n}`;
  });
}

/** Maximum of a LIMIT: every driver binds it as a whole number. */
const MOST = 2 ** 31 - 1;

export function atMost(limit: number): number {
  return Math.max(0, Math.min(limit, MOST));
}

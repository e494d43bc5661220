// A statement of the SQL stores: `?` stands for each value.

export type SqlValue = string | number | boolean | null;

/** The values of one column of rows to write: bound as they are. */
export class Column {
  readonly values: readonly SqlValue[];
  constructor(values: readonly SqlValue[]) {
    this.values = values;
  }
}

/** Columns of rows to write, with their types. */
export type Columns = Readonly<Record<string, "bigint" | "float8" | "text" | "boolean">>;

/** A list is one value to compare with: see `among` of the dialect. */
export type SqlBound = SqlValue | readonly SqlValue[] | Column;

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

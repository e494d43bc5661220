// A statement that both SQL stores run: `?` stands for each value.

type SqlValue = string | number | null;

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** The same statement with Postgres' numbered places. No text of ours has a `?` in it. */
export function numbered({ sql }: Statement): string {
  let n = 0;
  return sql.replaceAll("?", () => {
    n += 1;
    return `$${n}`;
  });
}

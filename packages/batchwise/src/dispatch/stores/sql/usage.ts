// Sums by tenant, job and lane: the additions of one transaction, and reading them. The three texts
// identify a row. Guarantees that rows are written in one order, so that two transactions never
// deadlock.

import type { UsageQuery, UsageRow } from "../../contract/store/rows.ts";
import { UsageSums } from "../../contract/store/usage-sums.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import type { Columns, Statement } from "./statement.ts";
import { all, type Steps } from "./steps.ts";

type Column = "requests" | OutcomeStatus | "input_tokens" | "cached_tokens" | "output_tokens" | "reasoning_tokens";
const COLUMNS: readonly Column[] = [
  ...(["requests", "succeeded", "failed", "cancelled", "expired"] as const),
  ...(["input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"] as const),
];
/** The table's columns. */
export const USAGE: Columns = {
  ...{ tenant: "text", job: "text", lane: "text" },
  ...Object.fromEntries(COLUMNS.map((name) => [name, "bigint" as const])),
};
const ADD = addUsage(`VALUES (?, ?, ?, ${COLUMNS.map(() => "?").join(", ")})`);

/** The statement that adds these rows to the table: three texts and the counts of `COLUMNS`. */
export function addUsage(rows: string): string {
  return `
    INSERT INTO batchwise_usage (tenant, job, lane, ${COLUMNS.join(", ")}) ${rows}
    ON CONFLICT (tenant, job, lane)
    DO UPDATE SET ${COLUMNS.map((name) => `${name} = batchwise_usage.${name} + excluded.${name}`).join(", ")}`;
}

/** The counts of one transaction. */
export class UsageAdditions extends UsageSums {
  /** Statements that add the sums one by one. */
  statements(): Statement[] {
    return this.rows().map((values) => ({ sql: ADD, values }));
  }

  /** In the order of the table's columns. */
  rows(): (string | number)[][] {
    return this.all().map(valuesOf);
  }
}

function valuesOf({ tenant, job, lane, requests, ended, ...tokens }: UsageRow): (string | number)[] {
  return [
    ...[tenant, job, lane, requests],
    ...[ended.succeeded, ended.failed, ended.cancelled, ended.expired],
    ...[tokens.inputTokens, tokens.cachedTokens, tokens.outputTokens, tokens.reasoningTokens],
  ];
}

export function* readUsage({ tenant, job }: UsageQuery): Steps<UsageRow[]> {
  const filters = [...(tenant === undefined ? [] : ["tenant = ?"]), ...(job === undefined ? [] : ["job = ?"])];
  const where = filters.length === 0 ? "" : ` WHERE ${filters.join(" AND ")}`;
  const values = [...(tenant === undefined ? [] : [tenant]), ...(job === undefined ? [] : [job])];
  const rows = yield* all<Omit<UsageRow, "ended"> & UsageRow["ended"]>(
    `SELECT tenant, job, lane, requests, succeeded, failed, cancelled, expired, input_tokens AS "inputTokens",
       cached_tokens AS "cachedTokens", output_tokens AS "outputTokens", reasoning_tokens AS "reasoningTokens"
     FROM batchwise_usage${where}`,
    ...values,
  );
  return rows.map(({ succeeded, failed, cancelled, expired, ...row }) => {
    return { ...row, ended: { succeeded, failed, cancelled, expired } };
  });
}

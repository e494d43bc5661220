// Sums by tenant, job and lane: the additions of one transaction, and reading them. The three texts
// identify a row. Guarantees that rows are written in one order, so that two transactions never
// deadlock.

import { laneProper } from "../../contract/store/lanes.ts";
import type { TokenCounts, UsageQuery, UsageRow } from "../../contract/store/rows.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import type { Statement } from "./statement.ts";
import { all, type Steps } from "./steps.ts";

/** The owner of usage. */
export interface Owner {
  readonly tenant: string;
  readonly job: string;
  /** The lane's name. A part of a split batch counts for its original lane. */
  readonly lane: string;
}

const NO_TOKENS: TokenCounts = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
type Column = "requests" | OutcomeStatus | "input_tokens" | "cached_tokens" | "output_tokens" | "reasoning_tokens";
const COLUMNS: readonly Column[] = [
  ...(["requests", "succeeded", "failed", "cancelled", "expired"] as const),
  ...(["input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"] as const),
];
const ADD = addUsage(`VALUES (?, ?, ?, ${COLUMNS.map(() => "?").join(", ")})`);

/** The statement that adds these rows to the table: three texts and the counts of `COLUMNS`. */
export function addUsage(rows: string): string {
  return `
    INSERT INTO batchwise_usage (tenant, job, lane, ${COLUMNS.join(", ")}) ${rows}
    ON CONFLICT (tenant, job, lane)
    DO UPDATE SET ${COLUMNS.map((name) => `${name} = batchwise_usage.${name} + excluded.${name}`).join(", ")}`;
}

type Sums = { -readonly [Field in keyof TokenCounts]: number } & {
  readonly owner: Owner;
  requests: number;
  readonly ended: Record<OutcomeStatus, number>;
};

/** The counts of one transaction. */
export class UsageSums {
  readonly #sums = new Map<string, Sums>();
  /** The last owner. Consecutive requests mostly share it. */
  #last: { readonly of: Owner; readonly sums: Sums } | null = null;

  /** Counts one more request that may run. Without a job nothing is counted. */
  requested(owner: Owner): void {
    if (owner.job !== "") this.#of(owner).requests += 1;
  }

  ended(owner: Owner, status: OutcomeStatus, tokens: TokenCounts | null): void {
    const sums = this.#of(owner);
    sums.ended[status] += 1;
    if (tokens === null) return;
    sums.inputTokens += tokens.inputTokens;
    sums.cachedTokens += tokens.cachedTokens;
    sums.outputTokens += tokens.outputTokens;
    sums.reasoningTokens += tokens.reasoningTokens;
  }

  /** Statements that add the sums one by one. */
  statements(): Statement[] {
    return this.rows().map((values) => ({ sql: ADD, values }));
  }

  /** In the order of the table's columns. */
  rows(): (string | number)[][] {
    const keys = [...this.#sums.keys()].sort();
    return keys.map((key) => valuesOf(this.#sums.get(key) as Sums));
  }

  #of(one: Owner): Sums {
    const { tenant, job } = one;
    const last = this.#last;
    if (last?.of.lane === one.lane && last.of.tenant === tenant && last.of.job === job) return last.sums;
    const lane = laneProper(one.lane);
    const key = JSON.stringify([tenant, job, lane]);
    const ended = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
    const sums = this.#sums.get(key) ?? { owner: { tenant, job, lane }, requests: 0, ended, ...NO_TOKENS };
    this.#sums.set(key, sums);
    this.#last = { of: one, sums };
    return sums;
  }
}

function valuesOf({ owner, requests, ended, ...tokens }: Sums): (string | number)[] {
  return [
    ...[owner.tenant, owner.job, owner.lane, requests],
    ...[ended.succeeded, ended.failed, ended.cancelled, ended.expired],
    ...[tokens.inputTokens, tokens.cachedTokens, tokens.outputTokens, tokens.reasoningTokens],
  ];
}

export function* readUsage({ tenant, job }: UsageQuery): Steps<UsageRow[]> {
  const filters = [...(tenant === undefined ? [] : ["tenant = ?"]), ...(job === undefined ? [] : ["job = ?"])];
  const where = filters.length === 0 ? "" : ` WHERE ${filters.join(" AND ")}`;
  const values = [...(tenant === undefined ? [] : [tenant]), ...(job === undefined ? [] : [job])];
  return (yield* all<RawUsage>(`SELECT * FROM batchwise_usage${where}`, ...values)).map(usageRow);
}

/** A row as the database returns it. */
type RawUsage = { readonly tenant: string; readonly job: string; readonly lane: string } & {
  readonly [Name in Column]: number;
};

function usageRow(raw: RawUsage): UsageRow {
  const { tenant, job, lane, requests, succeeded, failed, cancelled, expired } = raw;
  return {
    ...{ tenant, job, lane, requests, ended: { succeeded, failed, cancelled, expired } },
    ...{ inputTokens: raw.input_tokens, cachedTokens: raw.cached_tokens },
    ...{ outputTokens: raw.output_tokens, reasoningTokens: raw.reasoning_tokens },
  };
}

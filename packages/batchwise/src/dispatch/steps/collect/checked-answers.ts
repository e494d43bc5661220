// Checks the answers of batches whose requests are checked. A process without the check leaves
// such a batch to one that has it, and reports that once a batch.

import type { ResultLine } from "../../contract/account.ts";
import type { CheckedRequest } from "../../contract/checks.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { RequestRow } from "../../contract/rows.ts";
import type { JsonObject } from "../../contract/types.ts";
import { answerText } from "../../decide/results/answer-text.ts";
import type { CheckedLine, Member } from "../../decide/results/classify-results.ts";
import { parseLane } from "../../format/encode.ts";
import { shortened } from "../../format/stored-code.ts";
import type { Lease } from "../../runtime/lease.ts";
import { readFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { appendedTo } from "./ask-again.ts";

/** When another process may take the batch. This one takes it again later. */
const LEFT_MS = 1_000;
/** The same for a process that lives for one run. */
const LEFT_BY_RUN_MS = 60_000;
/** Maximum requests read at once, with their bodies. */
const PAGE = 200;
/** Maximum characters of a reason that an outcome keeps. */
const MOST_WORDS = 1_000;

/** True where the batch is left to a process that has the check, and the lease has ended. */
export async function leftToOthers(runtime: Runtime, lease: Lease): Promise<boolean> {
  const { checked } = parseLane(lease.batch.lane);
  if (checked === "" || checked === runtime.options.check?.mark) return false;
  const message = `The answers of batch ${lease.batch.key} are checked, and this process does not have the check`;
  const error = new DispatchError("CHECK_MISSING", `${message}: it is left to one that has it.`);
  if (runtime.troubles.isNewWord(error.message)) runtime.report(error, lease.context("results"));
  lease.isLeft = true;
  const leftMs = runtime.budget === null ? LEFT_MS : LEFT_BY_RUN_MS;
  await lease.end((now) => ({ nextAt: now + leftMs }));
  return true;
}

export function isChecked({ batch: { lane } }: Lease): boolean {
  return parseLane(lane).checked !== "";
}

type OrdLine = readonly [ord: number, line: ResultLine];

/**
 * Checks successes of members and passes each on; those that have ended already are left out. A
 * check that fails leaves its own request open: returns the first such error, or null.
 */
export async function checkLines(
  runtime: Runtime,
  lease: Lease,
  lines: readonly OrdLine[],
  pass: (line: CheckedLine) => void,
): Promise<DispatchError | null> {
  const inOrder = lines.toSorted(([a], [b]) => a - b);
  let failed: DispatchError | null = null;
  for (let from = 0; from < inOrder.length; ) {
    const [fromOrd] = inOrder[from] as OrdLine;
    const limit = neighbours(inOrder, from);
    const rows = await runtime.store.requests({ batchKey: lease.batch.key, fromOrd, limit, bodies: true });
    const byOrd = new Map(rows.map((row) => [row.ord as number, row]));
    for (const [ord, line] of inOrder.slice(from, from + limit)) {
      const row = byOrd.get(ord);
      if (row === undefined) continue;
      try {
        pass(await checkOne(runtime, lease, { ...row, ord }, line));
      } catch (error) {
        if (!isCheckFailed(error)) throw error;
        failed ??= error;
      }
    }
    from += limit;
  }
  return failed;
}

/** How many lines from here on have ords in a row, at most a page: one read gets their bodies. */
function neighbours(lines: readonly OrdLine[], from: number): number {
  const [first] = lines[from] as OrdLine;
  let count = 1;
  while (count < PAGE && lines[from + count]?.[0] === first + count) count += 1;
  return count;
}

/** True for the error of a check that threw, did not answer in time, or answered with nonsense. */
export function isCheckFailed(error: unknown): error is DispatchError {
  return error instanceof DispatchError && error.code === "CHECK_FAILED";
}

/**
 * Checks one success, in the time that one call of the account may take. Throws CHECK_FAILED with
 * the request's id if the user's function throws or is late.
 */
export async function checkOne(
  runtime: Runtime,
  lease: Lease,
  row: RequestRow & Member,
  line: ResultLine,
): Promise<CheckedLine> {
  const { endpoint } = parseLane(lease.batch.lane);
  const body = line.response?.body as JsonObject;
  let why: string | null;
  try {
    const run = async () => runtime.options.check?.run(body, requestOf(row, endpoint));
    why = (await readFor(runtime, lease, run)) ?? null;
  } catch (error) {
    if (lease.isOver || runtime.isStopping) throw error;
    throw new DispatchError("CHECK_FAILED", `The check of the answer of "${row.id}" threw.`, error);
  }
  if (why !== null && typeof why !== "string") {
    const message = `The check of the answer of "${row.id}" gave ${typeof why}, and not null or a text.`;
    throw new DispatchError("CHECK_FAILED", message);
  }
  if (why === null) return { line, member: row, why, mayPass: true, appended: null };
  const answer = answerText(body);
  if (answer.kind === "final") return { line, member: row, why: answer.why, mayPass: false, appended: null };
  const reason = shortened(why, MOST_WORDS);
  const { options } = runtime;
  const isLast = row.attempts + 1 >= options.retry.attempts;
  const appended = options.check?.reask && !isLast ? appendedTo(options, row, body, reason) : null;
  return { line, member: row, why: reason, mayPass: true, appended };
}

function requestOf(
  { id, body, job, tenant, metadata }: RequestRow,
  endpoint: CheckedRequest["endpoint"],
): CheckedRequest {
  return {
    ...{ id, endpoint, job, tenant, body: JSON.parse(body as string) as JsonObject },
    metadata: metadata === null ? null : (JSON.parse(metadata) as CheckedRequest["metadata"]),
  };
}

// Checks the answers of batches whose requests are checked. A process without the check leaves
// such a batch to one that has it, and reports that once a batch.

import type { ResultLine } from "../../contract/account.ts";
import type { CheckedRequest } from "../../contract/checks.ts";
import { DispatchError } from "../../contract/errors.ts";
import { laneProper } from "../../contract/store/lanes.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { RequestRow } from "../../contract/store/rows.ts";
import type { JsonObject } from "../../contract/types.ts";
import { parseLane } from "../../format/encode.ts";
import { shortened } from "../../format/stored-code.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { readFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { answerText } from "./answer-text.ts";
import { appendedTo, kept, mayKeep } from "./ask-again.ts";
import type { CheckedLine, Member } from "./classify-results.ts";
import type { Failed } from "./held-failures.ts";

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
  runtime.reportOnce(error.message, error, lease.context("results"));
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
 * Checks successes of members and passes each on, except members that have ended already. A check
 * that throws leaves its request open. Returns the first such error, or null.
 */
export async function checkLines(
  runtime: Runtime,
  lease: Lease,
  lines: readonly OrdLine[],
  pass: (line: CheckedLine) => void,
): Promise<DispatchError | null> {
  const byOrd = new Map(lines);
  let failed: DispatchError | null = null;
  for await (const row of openRows(runtime, lease, [...byOrd.keys()])) {
    try {
      pass(await checkOne(runtime, lease, row, byOrd.get(row.ord) as ResultLine));
    } catch (error) {
      if (!isCheckFailed(error)) throw error;
      failed ??= error;
    }
  }
  return failed;
}

/**
 * The failures, except that none ends a request with turns while tries are left: that goes again
 * without them.
 */
export async function keepAsked(
  runtime: Runtime,
  lease: Lease,
  failures: readonly Failed[],
): Promise<readonly Failed[]> {
  if (!isChecked(lease)) return failures;
  const { options, clock } = runtime;
  const some = failures.filter(({ settlement, member }) => mayKeep(settlement, member, options));
  const ending = new Map(some.map(({ settlement }) => [settlement.ord, settlement]));
  const lane = laneProper(lease.batch.lane);
  const now = clock.now();
  for await (const row of openRows(runtime, lease, [...ending.keys()])) {
    ending.set(row.ord, kept(ending.get(row.ord) as Settlement, row, options, lane, now));
  }
  return failures.map((failed) => ({ ...failed, settlement: ending.get(failed.settlement.ord) ?? failed.settlement }));
}

/** Open members at these places, with their bodies. Places in a row are read together. */
async function* openRows(
  runtime: Runtime,
  lease: Lease,
  places: readonly number[],
): AsyncGenerator<RequestRow & Member, void, undefined> {
  const ords = places.toSorted((a, b) => a - b);
  for (let from = 0; from < ords.length; ) {
    const fromOrd = ords[from] as number;
    let limit = 1;
    while (limit < PAGE && ords[from + limit] === fromOrd + limit) limit += 1;
    const rows = await runtime.store.requests({ batchKey: lease.batch.key, fromOrd, limit, bodies: true });
    for (const row of rows) {
      const ord = row.ord as number;
      if (ord < fromOrd + limit) yield { ...row, ord };
    }
    from += limit;
  }
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

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
import type { Lease } from "../../runtime/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";

const LEFT_MS = 60_000;
/** Requests read at once, with their bodies. */
const PAGE = 200;

/** True where the batch is left to a process that has the check, and the lease has ended. */
export async function leftToOthers(runtime: Runtime, lease: Lease): Promise<boolean> {
  const { checked } = parseLane(lease.batch.lane);
  if (checked === "" || checked === runtime.options.check?.mark) return false;
  const message = `The answers of batch ${lease.batch.key} are checked, and this process does not have the check`;
  const error = new DispatchError("CHECK_MISSING", `${message}: it is left to one that has it.`);
  if (runtime.troubles.isNewWord(error.message)) runtime.report(error, lease.context("results"));
  await lease.end((now) => ({ nextAt: now + LEFT_MS }));
  return true;
}

export function isChecked({ batch: { lane } }: Lease): boolean {
  return parseLane(lane).checked !== "";
}

/** Checks successes of members; those that have ended already are left out. */
export async function checkLines(
  runtime: Runtime,
  lease: Lease,
  lines: readonly (readonly [ord: number, line: ResultLine])[],
): Promise<CheckedLine[]> {
  const inOrder = lines.toSorted(([a], [b]) => a - b);
  const checked: CheckedLine[] = [];
  for (let from = 0; from < inOrder.length; ) {
    const [fromOrd] = inOrder[from] as (typeof inOrder)[number];
    const rows = await runtime.store.requests({ batchKey: lease.batch.key, fromOrd, limit: PAGE, bodies: true });
    const byOrd = new Map(rows.map((row) => [row.ord as number, row]));
    const last = rows.length < PAGE ? Number.POSITIVE_INFINITY : (rows.at(-1)?.ord as number);
    for (; from < inOrder.length; from += 1) {
      const [ord, line] = inOrder[from] as (typeof inOrder)[number];
      if (ord > last) break;
      const row = byOrd.get(ord);
      if (row !== undefined) checked.push(await checkOne(runtime, lease, { ...row, ord }, line));
    }
  }
  return checked;
}

/** Checks one success. What the user's function throws is thrown, with the request's id. */
export async function checkOne(
  runtime: Runtime,
  lease: Lease,
  row: RequestRow & Member,
  line: ResultLine,
): Promise<CheckedLine> {
  const { endpoint } = parseLane(lease.batch.lane);
  const body = line.response?.body as JsonObject;
  const final = answerText(body);
  let why: string | null;
  try {
    why = (await runtime.options.check?.run(body, requestOf(row, endpoint))) ?? null;
  } catch (error) {
    throw new DispatchError("CHECK_FAILED", `The check of the answer of "${row.id}" threw.`, error);
  }
  if (why !== null && typeof why !== "string") {
    const message = `The check of the answer of "${row.id}" gave ${typeof why}, and not null or a text.`;
    throw new DispatchError("CHECK_FAILED", message);
  }
  if (why !== null && final.kind === "final") return { line, member: row, why: final.why, mayPass: false };
  return { line, member: row, why, mayPass: true };
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

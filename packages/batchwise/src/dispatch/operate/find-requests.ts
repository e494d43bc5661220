// Reads requests by filter, page by page, for operators. A page is short only at the end, or after
// many reads with few matches. Writes nothing.

import type {
  RequestFilter,
  RequestPage,
  RequestRecord,
  RequestStatus,
  StoredRequest,
} from "../contract/operations.ts";
import type { RequestMatch, RequestRow } from "../contract/store/rows.ts";
import type { JsonObject } from "../contract/types.ts";
import { parseLane } from "../format/encode.ts";
import { storedCode } from "../format/stored-code.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { matching } from "../runtime/store/pages.ts";
import type { RequestsPlan } from "./operator-options.ts";

/** Rows per read. */
const PAGE = 1_000;
/** Maximum reads of the store for one page: each looks at many requests and may find none. */
const MOST_READS = 200;

const STATE_OF = { waiting: "ready", in_batch: "claimed" } as const;

export async function findRequests(runtime: Runtime, plan: RequestsPlan): Promise<RequestPage> {
  const page = await findRecords(runtime, plan);
  if (!plan.bodies) return page;
  return {
    requests: await withBodies(
      runtime,
      page.requests.map(({ id }) => id),
    ),
    next: page.next,
  };
}

/** The current requests of these ids, with their bodies. */
export async function withBodies(runtime: Runtime, ids: readonly string[]): Promise<StoredRequest[]> {
  const found: StoredRequest[] = [];
  for (const part of inParts(ids)) {
    const rows = await runtime.store.requests({ ids: part, bodies: true, history: true });
    found.push(...rows.map(storedRequest));
  }
  return found;
}

async function findRecords(runtime: Runtime, { filter, after, limit }: RequestsPlan): Promise<RequestPage> {
  if (filter.ids !== undefined) return { requests: await byIds(runtime, filter, filter.ids), next: null };
  const match = matchOf(filter);
  const requests: RequestRecord[] = [];
  let next: number | null = after;
  for (let reads = 0; next !== null && requests.length < limit && reads < MOST_READS; reads += 1) {
    const page = await runtime.store.find({ match, after: next, limit: Math.min(PAGE, limit - requests.length) });
    requests.push(...page.rows.map(requestRecord));
    next = page.next;
  }
  return { requests, next };
}

/** All pages of matching rows. Throws once the dispatcher stops. */
export function filtered(runtime: Runtime, filter: RequestFilter): AsyncGenerator<readonly RequestRow[]> {
  return matching(runtime.store, matchOf(filter), { signal: runtime.stopping.signal });
}

/** The ids, each once, in parts of a size for one store call. */
export function* inParts(ids: readonly string[]): Generator<readonly string[]> {
  const each = [...new Set(ids)];
  for (let from = 0; from < each.length; from += PAGE) yield each.slice(from, from + PAGE);
}

async function byIds(runtime: Runtime, filter: RequestFilter, ids: readonly string[]): Promise<RequestRecord[]> {
  const found: RequestRecord[] = [];
  for (const part of inParts(ids)) found.push(...(await runtime.store.requests({ ids: part })).map(requestRecord));
  return found.filter((record) => isMatch(record, filter));
}

function isMatch(record: RequestRecord, { statuses, batch, tenant, job, code }: RequestFilter): boolean {
  return (
    (statuses?.includes(record.status) ?? true) &&
    (batch === undefined || batch === record.batch) &&
    (tenant === undefined || tenant === record.tenant) &&
    (job === undefined || job === record.job) &&
    (code === undefined || storedCode(code) === record.code)
  );
}

function matchOf({ statuses, batch, tenant, job, code }: RequestFilter): RequestMatch {
  return {
    ...(statuses === undefined ? {} : { states: statuses.map(stateOf) }),
    ...(batch === undefined ? {} : { batchKey: batch }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(job === undefined ? {} : { job }),
    ...(code === undefined ? {} : { code: storedCode(code) }),
  };
}

function stateOf(status: RequestStatus): NonNullable<RequestMatch["states"]>[number] {
  return status === "waiting" || status === "in_batch" ? STATE_OF[status] : status;
}

function statusOf({ state, ended }: RequestRow): RequestStatus {
  if (ended !== null) return ended.status;
  return state === "claimed" ? "in_batch" : "waiting";
}

function storedRequest(row: RequestRow): StoredRequest {
  const history = row.history ?? [];
  return {
    ...requestRecord(row),
    body: JSON.parse(row.body ?? "{}") as JsonObject,
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, string>),
    history: history.map(({ batchKey, code, at }) => ({ batch: batchKey, code, at })),
  };
}

function requestRecord(row: RequestRow): RequestRecord {
  const { endpoint, model } = parseLane(row.lane);
  return {
    id: row.id,
    status: statusOf(row),
    endpoint,
    model,
    job: row.job,
    tenant: row.tenant,
    priority: row.priority,
    attempts: row.attempts,
    batch: row.batchKey ?? row.ended?.batchKey ?? null,
    createdAt: row.createdAt,
    notBefore: row.notBefore === 0 ? null : row.notBefore,
    deadlineAt: row.deadlineAt,
    endedAt: row.ended?.recordedAt ?? null,
    bytes: row.bytes,
    tokens: row.tokens,
    code: row.ended?.code ?? null,
    cancelRequested: row.cancelRequested,
  };
}

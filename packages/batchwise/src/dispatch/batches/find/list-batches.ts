// Finds batches at a provider: by tag if the provider can search for one, else in its list, page by
// page. Each call is bounded. Rejects rather than return a part of the list, because an unlisted
// batch counts as absent.

import { type Account, type BatchName, isOlder, type ListPage, type ProviderBatch } from "../../contract/account.ts";
import { bounded } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";

const MOST_PAGES = 1_000;

interface PageOptions {
  /** Called before each call. */
  readonly onCall?: () => void;
  /** Time limit of the next call, in ms. Default: the account's. */
  readonly limitMs?: () => number;
  /** The cursor of the first page. Default: the list's beginning. */
  readonly from?: string | null;
}

/**
 * The pages of the list, newest first if the provider sorts them, until one reaches back before
 * `since`.
 */
export async function* pages(
  runtime: Runtime,
  account: Account,
  since: number,
  cuts: readonly AbortSignal[],
  { onCall, limitMs = () => runtime.timeFor(account.requestTimeoutMs), from = null }: PageOptions = {},
): AsyncGenerator<ListPage> {
  const { newestFirst, pageSize: limit } = account.capabilities.list;
  let cursor: string | null = from;
  for (let count = 0; count < MOST_PAGES; count += 1) {
    const ask = { cursor, limit };
    onCall?.();
    const page: ListPage = await bounded(runtime, limitMs(), cuts, (call) => account.list(ask, call));
    yield page;
    const isPast = newestFirst && page.batches.some((seen) => isOlder(seen, since));
    if (page.next === null || isPast) return;
    cursor = page.next;
  }
  throw new Error(`The list of ${account.name} has more than ${MOST_PAGES} pages.`);
}

/** The batches with the tag, or all batches of the account back to `since`. */
export function findOrList(
  runtime: Runtime,
  account: Account,
  tag: BatchName,
  since: number,
  cuts: readonly AbortSignal[],
): Promise<readonly ProviderBatch[]> {
  const { find } = account;
  if (find === undefined) return listBack(runtime, account, since, cuts);
  return bounded(runtime, runtime.timeFor(account.requestTimeoutMs), cuts, (call) => find.call(account, tag, call));
}

/** All batches of the account back to `since`. */
async function listBack(
  runtime: Runtime,
  account: Account,
  since: number,
  cuts: readonly AbortSignal[],
): Promise<ProviderBatch[]> {
  const listed: ProviderBatch[] = [];
  for await (const { batches } of pages(runtime, account, since, cuts)) listed.push(...batches);
  return listed;
}

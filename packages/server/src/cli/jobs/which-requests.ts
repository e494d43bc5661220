// The requests of a command: those named, or all that match its flags, page by page.

import type { Dispatcher, RequestFilter, RequestPage, RequestStatus } from "batchwise/dispatch";
import { CommandError } from "../common/failures.ts";
import type { RetryFlags } from "./jobs-flags.ts";

const PAGE = 1_000;

type Which = Pick<RetryFlags, "job" | "tenant" | "batch" | "code" | "status">;

/** Throws if no id and no flag is given, because that would select all requests of a store. */
export function expectWhich(ids: readonly string[], { job, tenant, batch, code, status }: Partial<Which>): void {
  const isMatch = [job, tenant, batch, code, status].some((flag) => flag !== undefined);
  if (ids.length > 0 === isMatch) {
    throw new CommandError("Expected ids of requests, or at least one of the options that choose them (see --help).");
  }
}

/**
 * Yields up to a thousand ids at a time: the given ids, or the ids of matching requests, in the
 * order of the dispatcher's `requests`.
 */
export async function* whichRequests(
  dispatcher: Dispatcher,
  ids: readonly string[],
  flags: Which,
  statuses: readonly RequestStatus[],
): AsyncGenerator<readonly string[]> {
  const { job, tenant, batch, code, status } = flags;
  expectWhich(ids, flags);
  if (ids.length > 0) {
    for (let from = 0; from < ids.length; from += PAGE) yield ids.slice(from, from + PAGE);
    return;
  }
  const filter: RequestFilter = {
    statuses: status === undefined ? statuses : [status],
    ...(job === undefined ? {} : { job }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(batch === undefined ? {} : { batch }),
    ...(code === undefined ? {} : { code }),
  };
  for (let after: number | null = 0; after !== null; ) {
    const { requests, next }: RequestPage = await dispatcher.requests({ ...filter, after, limit: PAGE });
    if (requests.length > 0) yield requests.map(({ id }) => id);
    after = next;
  }
}

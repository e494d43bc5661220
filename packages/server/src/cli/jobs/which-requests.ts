// The requests that a command is about: those named, or all that match its flags, page by page.

import type { RequestMatch, RequestRow, Store } from "batchwise/dispatch";
import { CommandError } from "../shared/failures.ts";
import type { RetryFlags } from "./jobs-flags.ts";

const PAGE = 1_000;

type States = NonNullable<RequestMatch["states"]>;

/** Refuses to mean all requests of a store by saying nothing. */
export function expectWhich(ids: readonly string[], { job, tenant, batch, code, status }: Partial<RetryFlags>): void {
  const isMatch = [job, tenant, batch, code, status].some((flag) => flag !== undefined);
  if (ids.length > 0 === isMatch) {
    throw new CommandError("Expected ids of requests, or at least one of the options that choose them (see --help).");
  }
}

/** Ids in parts of up to a thousand. */
export async function* whichRequests(
  store: Store,
  ids: readonly string[],
  flags: RetryFlags,
  states: States,
): AsyncGenerator<readonly string[]> {
  const { job, tenant, batch, code, status } = flags;
  expectWhich(ids, flags);
  if (ids.length > 0) {
    for (let from = 0; from < ids.length; from += PAGE) yield ids.slice(from, from + PAGE);
    return;
  }
  const match: RequestMatch = {
    ...{ states: status === undefined ? states : [status] },
    ...(job === undefined ? {} : { job }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(batch === undefined ? {} : { batchKey: batch }),
    ...(code === undefined ? {} : { code }),
  };
  for await (const rows of findPages(store, match)) if (rows.length > 0) yield rows.map(({ id }) => id);
}

/** What matches, read by read. A read looks at a thousand requests or so, and may find none. */
export async function* findPages(store: Store, match: RequestMatch): AsyncGenerator<readonly RequestRow[]> {
  for (let after: number | null = 0; after !== null; ) {
    const page: Awaited<ReturnType<Store["find"]>> = await store.find({ match, after, limit: PAGE });
    yield page.rows;
    after = page.next;
  }
}

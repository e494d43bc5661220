// Reads the undecided members of a batch, a page at a time.

import type { HistoryRow } from "../contract/store/rows.ts";
import type { Lease } from "../runtime/lease/lease.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Member } from "./collect/classify-results.ts";

const PAGE = 10_000;

interface OpenMember extends Member {
  readonly deadlineAt: number | null;
  /** Only on demand. */
  readonly history: readonly HistoryRow[] | null;
}

/** Visits the open members of a batch by place, without their bodies. */
export async function eachOpen(
  runtime: Runtime,
  lease: Lease,
  visit: (member: OpenMember) => void,
  { history = false }: { readonly history?: boolean } = {},
): Promise<void> {
  const batchKey = lease.batch.key;
  for (let fromOrd = 0; ; ) {
    const page = await runtime.store.requests({ batchKey, fromOrd, limit: PAGE, history });
    for (const { ord, attempts, generation, cancelRequested, deadlineAt, history } of page) {
      visit({ ord: ord as number, attempts, generation, cancelRequested, deadlineAt, history });
      fromOrd = (ord as number) + 1;
    }
    if (page.length < PAGE) return;
  }
}

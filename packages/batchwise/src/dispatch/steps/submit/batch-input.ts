// Builds the input file of a batch from the store, line by line: the same on every machine and in
// every attempt. Reads bodies a page at a time and never holds all of them.

import type { Account, BatchInput } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { BatchRow } from "../../contract/rows.ts";
import type { Store } from "../../contract/store.ts";
import { customId, parseLane } from "../../format/encode.ts";

/**
 * Bodies read at once: as many, and as few as make about this many bytes, two chunks of an upload.
 * A page is held for as long as the provider takes to read it. What survives two young collections
 * stays until a full one: larger pages make the process grow by tens of megabytes.
 */
const PAGE = 500;
const PAGE_BYTES = 128_000;

/**
 * Thrown for a member that its account can no longer encode. Only this member fails, not the batch.
 */
export class LineRefused extends Error {
  readonly ord: number;

  constructor(ord: number, cause: DispatchError) {
    super(cause.message, { cause });
    this.ord = ord;
  }
}

/** The name of the file of one attempt. */
export function fileName(key: string, attempt: number): string {
  return `${key}-${attempt}.jsonl`;
}

/** Key and attempt in the name of one of our uploads, or null where it is not one. */
export function parseFileName(name: string): { readonly key: string; readonly attempt: number } | null {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})-(\d+)\.jsonl$/.exec(name);
  return match?.[1] === undefined ? null : { key: match[1], attempt: Number(match[2]) };
}

/** `check` is called before each line is given out, and throws where no more may be sent. */
export function batchInput(store: Store, account: Account, batch: BatchRow, check: () => void = () => {}): BatchInput {
  return {
    fileName: fileName(batch.key, batch.submitAttempt),
    requests: batch.remaining,
    bytes: batch.bytes,
    lines: () => lines(store, account, batch, check),
  };
}

/** The body of the first member that is still open. */
export async function firstBody(store: Store, { key }: BatchRow): Promise<string> {
  const [first] = await store.requests({ batchKey: key, fromOrd: 0, limit: 1, bodies: true });
  if (first === undefined) throw new Error(`Batch ${key} has no open members.`);
  return first.body as string;
}

async function* lines(store: Store, account: Account, batch: BatchRow, check: () => void): AsyncGenerator<string> {
  const { endpoint } = parseLane(batch.lane);
  const { key } = batch;
  const limit = Math.max(1, Math.min(PAGE, Math.floor((PAGE_BYTES * batch.requests) / batch.bytes)));
  for (let fromOrd = 0; fromOrd < batch.requests; ) {
    const page = await store.requests({ batchKey: key, fromOrd, limit, bodies: true });
    for (const row of page) {
      const ord = row.ord as number;
      check();
      yield encode(account, ord, { customId: customId(key, ord), endpoint, body: row.body as string });
      fromOrd = ord + 1;
    }
    if (page.length < limit) return;
  }
}

function encode(account: Account, ord: number, request: Parameters<Account["encodeLine"]>[0]): string {
  try {
    return account.encodeLine(request);
  } catch (error) {
    if (error instanceof DispatchError) throw new LineRefused(ord, error);
    throw error;
  }
}

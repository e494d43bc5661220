// Builds a batch's input file from the store, line by line: equal on every machine and in every
// attempt. Reads bodies by pages and never holds all of them.

import type { Account, BatchInput } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { Store } from "../../contract/store/store.ts";
import { atOnce } from "../../format/at-once.ts";
import { customId, parseLane } from "../../format/encode.ts";
import { withTurns } from "../collect/answer-turns.ts";

/**
 * Maximum bodies per read, and the bytes to which a page is limited: two chunks of an upload. A
 * page is held while the provider reads it, and objects that survive two young collections stay
 * until a full one, so larger pages make the process grow by tens of megabytes.
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

/** The file name of one attempt. */
export function fileName(key: string, attempt: number): string {
  return `${key}-${attempt}.jsonl`;
}

/** Key and attempt in the name of one of our uploads; null for any other name. */
export function parseFileName(name: string): { readonly key: string; readonly attempt: number } | null {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})-(\d+)\.jsonl$/.exec(name);
  return match?.[1] === undefined ? null : { key: match[1], attempt: Number(match[2]) };
}

/** `check` is called before each line is yielded, and throws if no more may be sent. */
export function batchInput(store: Store, account: Account, batch: BatchRow, check: () => void = () => {}): BatchInput {
  return {
    fileName: fileName(batch.key, batch.submitAttempt),
    requests: batch.remaining,
    bytes: batch.bytes,
    lines: () => lines(store, account, batch, check),
  };
}

/** The body of the first open member. */
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
      yield encode(account, ord, {
        customId: customId(key, ord),
        endpoint,
        body: withTurns(row.body as string, row.turns),
      });
      fromOrd = ord + 1;
    }
    if (page.length < limit) return;
  }
}

function encode(account: Account, ord: number, request: Parameters<Account["encodeLine"]>[0]): string {
  try {
    return atOnce(account, "encodeLine", account.encodeLine(request));
  } catch (error) {
    if (error instanceof DispatchError) throw new LineRefused(ord, error);
    throw error;
  }
}

// Waits for client calls. Every wait ends with the call's signal, or after `timeoutMs` without
// progress, even if the client ignores both.

import type { CallOptions } from "../contract/account.ts";

/**
 * Runs one step of a call. `work` gets a signal that is aborted if the wait ends before the step.
 */
export async function within<T>(call: CallOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  call.signal.throwIfAborted();
  const cut = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    cut.signal.addEventListener("abort", () => reject(cut.signal.reason), { once: true });
  });
  const abort = (): void => cut.abort(call.signal.reason);
  const timer = setTimeout(() => cut.abort(noProgress(call.timeoutMs)), Math.min(LONGEST_MS, call.timeoutMs));
  call.signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work(cut.signal), stopped]);
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener("abort", abort);
  }
}

/** Longest delay of a platform timer, in ms. */
const LONGEST_MS = 2 ** 31 - 1;

function noProgress(timeoutMs: number): Error {
  return new DOMException(`The storage made no progress for ${timeoutMs} ms.`, "TimeoutError");
}

/** A client's download. Node.js streams also have `destroy`, which frees the connection. */
type Download = AsyncIterable<Uint8Array> & { destroy?(): unknown };

/** Yields the chunks of a download. Leaving the loop, even during a wait, ends the download. */
export async function* chunksWithin(call: CallOptions, download: Download): AsyncGenerator<Uint8Array> {
  const iterator = download[Symbol.asyncIterator]();
  let isWhole = false;
  try {
    for (;;) {
      const { done, value } = await within(call, () => iterator.next());
      isWhole = done === true;
      if (done === true) return;
      yield value;
    }
  } finally {
    if (!isWhole) giveUp(download, iterator);
  }
}

/** Ends the download without waiting: an iterator answers only after its pending read. */
function giveUp(download: Download, iterator: AsyncIterator<Uint8Array>): void {
  if (download.destroy !== undefined) download.destroy();
  else iterator.return?.().catch(() => {});
}

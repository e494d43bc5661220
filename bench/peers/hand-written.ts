/**
 * The code that a careful person writes without a library: one array of records, one promise per
 * item with a shared executor, one dispatch at the end of the turn.
 *
 * It is the bound of the per-item loads. It checks nothing: no length, no error per item, no limit,
 * no signal.
 */
import type { Handler, Loader, Shape } from "./contract.ts";

interface Waiting {
  readonly value: number;
  readonly resolve: (result: number) => void;
  readonly reject: (error: unknown) => void;
}

let lastResolve: (result: number) => void;
let lastReject: (error: unknown) => void;

function keepSettlers(resolve: (result: number) => void, reject: (error: unknown) => void): void {
  lastResolve = resolve;
  lastReject = reject;
}

const settledPromise = Promise.resolve();

/** Runs after the promise jobs of this turn, as dataloader does. */
function afterTurn(call: () => void): void {
  settledPromise.then(() => process.nextTick(call));
}

export function handWritten(handler: Handler, { maxBatchSize, slots }: Shape): Loader {
  let waiting: Waiting[] = [];
  let head = 0;
  let running = 0;
  let scheduled = false;

  function load(value: number): Promise<number> {
    const promise = new Promise(keepSettlers);
    waiting.push({ value, resolve: lastResolve, reject: lastReject });
    if (!scheduled) {
      scheduled = true;
      afterTurn(dispatch);
    }
    return promise;
  }

  function dispatch(): void {
    scheduled = false;
    while (running < slots && head < waiting.length) {
      const from = head;
      head = Math.min(head + maxBatchSize, waiting.length);
      run(waiting, from, head);
    }
    if (head === waiting.length) {
      waiting = [];
      head = 0;
    }
  }

  function run(batch: readonly Waiting[], from: number, to: number): void {
    running += 1;
    const items: number[] = [];
    for (let at = from; at < to; at += 1) items.push((batch[at] as Waiting).value);
    handler(items).then(
      (results) => {
        for (let at = from; at < to; at += 1) (batch[at] as Waiting).resolve(results[at - from] as number);
        finish();
      },
      (error: unknown) => {
        for (let at = from; at < to; at += 1) (batch[at] as Waiting).reject(error);
        finish();
      },
    );
  }

  function finish(): void {
    running -= 1;
    if (head < waiting.length && !scheduled) dispatch();
  }

  return { load };
}

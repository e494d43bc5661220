// Sends a batch to a thread. An item that cannot be cloned rejects only its own caller: the others
// are sent without it.

import type { BatchContext } from "../core/contract/types.ts";
import { cloneOf } from "./encode-reason.ts";
import { pack } from "./pack.ts";
import type { PlainContext, ToThread } from "./thread-protocol.ts";

export interface SentBatch {
  /** The sent items' places in the batch; undefined if all were sent. */
  readonly indexes: readonly number[] | undefined;
  readonly errors: ReadonlyMap<number, unknown>;
}

const WHOLE: SentBatch = { indexes: undefined, errors: new Map() };

type Post = (message: ToThread, transfer: readonly ArrayBuffer[]) => void;

interface BatchToSend {
  /** The run's id, which its answer repeats. */
  readonly task: string;
  readonly items: readonly unknown[];
  readonly context: BatchContext;
  /** True: buffers that an item owns whole are transferred. */
  readonly moves: boolean;
}

/**
 * Posts a run of the items that can be cloned. A context that cannot be cloned is sent as
 * `undefined`.
 */
export function sendBatch({ task, items, context, moves }: BatchToSend, post: Post): SentBatch {
  const plain = plainContext(context);
  try {
    // Reads the items' properties, which may throw.
    const packed = pack(items, moves);
    post({ type: "run", task, items: packed.value as readonly unknown[], context: plain }, packed.transfer);
    return WHOLE;
  } catch {
    return sendCloneable(task, items, plain, post);
  }
}

function plainContext({ id, key, cost, reason, requests }: BatchContext): PlainContext {
  return { id, key, cost, reason, requests };
}

/**
 * Sends clones, which are plain data: a getter of an item may return something else when it is
 * sent.
 */
function sendCloneable(task: string, items: readonly unknown[], context: PlainContext, post: Post): SentBatch {
  const errors = new Map<number, unknown>();
  const indexes: number[] = [];
  const kept: unknown[] = [];
  const requests: PlainContext["requests"][number][] = [];
  for (const [index, item] of items.entries()) {
    try {
      kept.push(structuredClone(item));
    } catch (reason) {
      errors.set(index, reason);
      continue;
    }
    indexes.push(index);
    const request = context.requests[index] as PlainContext["requests"][number];
    requests.push({ ...request, context: cloneOf(request.context)?.value });
  }
  if (indexes.length > 0) post({ type: "run", task, items: kept, context: { ...context, requests } }, []);
  return { indexes, errors };
}

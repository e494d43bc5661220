// One wire format of the fake: the calls that it knows and their answers. A fake may have several;
// the first that knows a path takes the call. Its BatchBook decides what its batches do.

import type { BatchBook } from "./batch-book.ts";
import type { Exchange, Refusal, Reply } from "./exchange.ts";
import type { FakeOperation } from "./fault-types.ts";
import type { FakeSurface } from "./types.ts";

/** The operation of a call, and the id in its path ("" if there is none). */
export interface Route {
  readonly operation: FakeOperation;
  readonly id: string;
}

export interface Surface {
  readonly name: FakeSurface;
  /** The part of its batches that is equal on every surface. */
  readonly book: Pick<BatchBook<unknown>, "views" | "executions">;
  /** Null for an unknown path. */
  route(method: string, path: string): Route | null;
  /** Throws a Refusal for anything that the provider refuses. */
  run(operation: FakeOperation, id: string, exchange: Exchange): Reply;
  /** A refusal in the provider's error format. */
  refused(refusal: Refusal): Reply;
  /** Adds a batch of another client. */
  addForeign(requests: number): void;
}

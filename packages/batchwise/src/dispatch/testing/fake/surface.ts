// One wire format of the fake: which calls it knows, and how it answers them. A fake has one
// surface or several side by side; the first that knows a path takes the call. What the batches of
// a surface do is in its BatchBook.

import type { BatchBook } from "./batch-book.ts";
import type { Exchange, Refusal, Reply } from "./exchange.ts";
import type { FakeOperation, FakeSurface } from "./types.ts";

/** What a call means: its operation, and the id in its path ("" where there is none). */
export interface Route {
  readonly operation: FakeOperation;
  readonly id: string;
}

export interface Surface {
  readonly name: FakeSurface;
  /** Its batches, as far as they look the same on every surface. */
  readonly book: Pick<BatchBook<unknown>, "views" | "executions">;
  /** Null for a path that it does not know. */
  route(method: string, path: string): Route | null;
  /** Throws a Refusal for what the provider refuses. */
  run(operation: FakeOperation, id: string, exchange: Exchange): Reply;
  /** A refusal in the error shape of the provider. */
  refused(refusal: Refusal): Reply;
  /** Somebody else's batch. */
  addForeign(requests: number): void;
}

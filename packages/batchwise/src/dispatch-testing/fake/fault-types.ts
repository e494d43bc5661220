// Types of faults in calls of the fake provider. All spans and times are in ms on the fake's clock.

import type { Json } from "../../dispatch/contract/types.ts";

/** The operations that the fake counts and that can have faults. */
export type FakeOperation =
  | "files.create"
  | "files.list"
  | "files.retrieve"
  | "files.content"
  | "files.put"
  | "files.delete"
  | "batches.create"
  | "batches.list"
  | "batches.retrieve"
  | "batches.cancel"
  | "batches.results"
  | "messages.create"
  | "messages.list"
  | "messages.retrieve"
  | "messages.results"
  | "messages.cancel"
  | "messages.delete"
  | "gemini.create"
  | "gemini.list"
  | "gemini.retrieve"
  | "gemini.cancel"
  | "gemini.delete"
  | "geminiFiles.upload"
  | "geminiFiles.list"
  | "geminiFiles.retrieve"
  | "geminiFiles.content"
  | "geminiFiles.delete"
  | "invocationJobs.create"
  | "invocationJobs.list"
  | "invocationJobs.retrieve"
  | "invocationJobs.stop"
  | "vertex.create"
  | "vertex.list"
  | "vertex.retrieve"
  | "vertex.cancel"
  | "vertex.delete"
  | "objects.put"
  | "objects.get"
  | "objects.list"
  | "objects.delete"
  | "uploads.create"
  | "uploads.part"
  | "uploads.complete"
  | "uploads.abort"
  | "jobs.create"
  | "jobs.list"
  | "jobs.get"
  | "jobs.cancel"
  | "jobs.delete";

/** A fault in the next call, or calls, of an operation. */
export interface FakeFault {
  readonly on: FakeOperation | readonly FakeOperation[];
  /** Number of calls that it hits. Default 1. */
  readonly times?: number;
  /** Hits every call until this time on the fake's clock; then `times` is ignored. */
  readonly until?: number;
  /** Share of calls that it hits. Default 1. */
  readonly chance?: number;
  /**
   * Delay before the operation, in ms, even if the client has disconnected by then: a slow accept.
   * Default 0.
   */
  readonly delayMs?: number;
  /** Whether the operation takes effect. Default true. */
  readonly accept?: boolean;
  /** Delay after the operation, in ms. Default 0. */
  readonly replyDelayMs?: number;
  /** The client's view. Default: the answer. `drop` closes the connection. */
  readonly reply?:
    | "answer"
    | "drop"
    | FakeReplyFault
    | { readonly cutAtBytes: number }
    | FakeShortReply
    | FakeEditedReply;
}

/** The answer with a changed body. */
export interface FakeEditedReply {
  /** Makes the client's body from the original one. */
  readonly edit: (body: string) => string;
}

/** The body ends cleanly after this many of its lines, so a client takes it for complete. */
export interface FakeShortReply {
  readonly endAfterLines: number;
}

/** A fault in an answer of the fake. */
export interface FakeReplyFault {
  readonly status: number;
  readonly body?: Json;
  /**
   * Replaces `body` by a text that is not JSON, such as a proxy's page. Set its type in `headers`;
   * default text/html.
   */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

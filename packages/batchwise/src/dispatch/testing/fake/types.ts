// The words of the fake provider: its options, what a test may script, and what it records. Types
// only. All spans and times are milliseconds on the fake's own clock.

import type { Clock } from "../../../core/time/clock.ts";
import type { Json, JsonObject } from "../../contract/types.ts";

/** The calls that the fake counts and into which faults can be put. */
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

/** The wire formats that the fake speaks. */
export type FakeSurface = "openai" | "anthropic" | "gemini" | "mistral" | "bedrock" | "vertex";

/** Ways in which OpenAI-shaped services differ on the wire. */
export type FakeDialect = "openai" | "azure" | "groq" | "together";

/** The objects of a fake storage, and the faults in its calls. */
export interface FakeObjects {
  /** An object's bytes; null: there is none. */
  read(bucket: string, name: string): Uint8Array | null;
  /** Puts an object there, as another client would. */
  write(bucket: string, name: string, bytes: Uint8Array | string): void;
  /** Puts a fault into calls to come. Several wait their turn. */
  inject(fault: FakeFault): void;
  /** Calls that a fault has hit. */
  readonly faultsHit: number;
  /** Takes back every fault that has not hit yet. */
  heal(): void;
}

/** The limits that the fake enforces. */
export interface FakeLimits {
  /** Fewer lines than this fail validation, as with some providers. 1. */
  readonly minLines: number;
  /** Lines in one file. OpenAI 50_000, Mistral 100_000. */
  readonly maxLines: number;
  /** Bad lines that the validation of an OpenAI-shaped file names. 50. */
  readonly namedFaults: number;
  /** Texts to embed in one file, over all its lines. OpenAI 50_000. */
  readonly maxEmbeddingInputs: number;
  /** Files that may be kept without `expires_after`. Azure 500; else Infinity. */
  readonly maxLastingFiles: number;
  /** Bytes of one uploaded file. OpenAI 200_000_000, Mistral 512_000_000. */
  readonly maxFileBytes: number;
  /** Items of one Anthropic batch. 100_000. */
  readonly maxItems: number;
  /** Bytes of one Anthropic create. 256_000_000. */
  readonly maxBodyBytes: number;
  /** Bytes of one Gemini create, with the requests that it carries. 20_971_520. */
  readonly maxCreateBytes: number;
  /** Bytes of one file at Gemini. 2_000_000_000. */
  readonly maxUploadBytes: number;
  /** Lines of one job at Vertex AI. 200_000. */
  readonly maxJobLines: number;
  /** Bytes of the input of one job at Vertex AI. 1_000_000_000. */
  readonly maxJobBytes: number;
  /** Vertex AI: jobs of Claude that may be waiting or running at once. 4. */
  readonly claudeJobs: number;
  /** Gemini: batches that may be waiting or running at once. 100. */
  readonly concurrentBatches: number;
  /** Prompt tokens that may be enqueued per model, by the estimate of `batchwise`. Infinity. */
  readonly enqueuedTokens: number;
  /** A batch refused for tokens counts this long after it failed. 0. */
  readonly failedCountsForMs: number;
  /** Anthropic and Mistral: items that may be enqueued in all. Infinity, at Mistral 1_000_000. */
  readonly enqueuedItems: number;
  /** Batches that may be created in one hour. 2_000. */
  readonly createsPerHour: number;
}

/** What becomes of one batch. Times count from its acceptance. */
export interface FakePlan {
  readonly validateMs: number;
  readonly runMs: number;
  readonly finalizeMs: number;
  /** From the cancel to its end. */
  readonly cancelMs: number;
  /** A cancelled batch that would end before `cancelMs` is over completes all the same. */
  readonly completesDespiteCancel: boolean;
  /** Share of the lines that have run when the window ends; null: as many as the time allowed. */
  readonly expiredShare: number | null;
  /** Fails after validation with this, whatever its lines are. `line` counts from 1. */
  readonly failWith: FakeLineFault | null;
  /** Fails after validation, and says nothing of why. */
  readonly failSilently: boolean;
  /** A batch that failed names both result files all the same; they are empty. */
  readonly failedNamesFiles: boolean;
  readonly order: "shuffled" | "input";
  /** Result lines that are left out, and that come twice. */
  readonly missingLines: number;
  readonly duplicateLines: number;
  /** Share of the items that end with `failedStatus`. */
  readonly failedShare: number;
  /** A status of the provider's own: 500, 429, 529. 500. */
  readonly failedStatus: number;
  /** An empty error file although nothing failed. */
  readonly emptyErrorFile: boolean;
  /** How a file that does not exist is named in the batch. */
  readonly absentFile: "null" | "empty" | "omitted";
  /** How states are written. */
  readonly stateCase: "lower" | "capitalised" | "upper";
  /** The batch has ended this long before it says where its results are. 0. */
  readonly resultsLagMs: number;
  /**
   * The batch has ended this long before its counts are there: until then they are 0, or left out.
   * 0.
   */
  readonly countsLagMs: number;
  /** In place of `in_progress`: a state that no client knows. */
  readonly strangeState: string | null;
}

/** What goes wrong with one line. */
export interface FakeLineFault {
  readonly code: string;
  readonly message: string;
  readonly line?: number | null;
  readonly param?: string | null;
}

/** One line as the fake would execute it. For Anthropic, `body` is `params`. */
export interface FakeLine {
  readonly customId: string;
  readonly endpoint: string;
  readonly body: JsonObject;
}

/**
 * How a line ends: 2xx is a success. Must depend on the line alone, since it may be asked for more
 * than once.
 */
export interface FakeAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

/** A fault in one call, or in the next few calls, of an operation. */
export interface FakeFault {
  readonly on: FakeOperation | readonly FakeOperation[];
  /** How many calls it hits. Default 1. */
  readonly times?: number;
  /** Hits every call until this time on the fake's clock; `times` then does not count. */
  readonly until?: number;
  /** Share of the calls that it hits. Default 1. */
  readonly chance?: number;
  /**
   * Waits this long before anything is done, also when the client has gone by then: a slow accept.
   * Default 0.
   */
  readonly delayMs?: number;
  /** Whether the operation is done. Default true. */
  readonly accept?: boolean;
  /** Waits this long after it is done. Default 0. */
  readonly replyDelayMs?: number;
  /** What the client sees. Default: the answer. `drop` closes the connection. */
  readonly reply?:
    | "answer"
    | "drop"
    | FakeReplyFault
    | { readonly cutAtBytes: number }
    | FakeShortReply
    | FakeEditedReply;
}

/** The answer with another body. */
export interface FakeEditedReply {
  /** Makes the body that the client sees of the one that there would be. */
  readonly edit: (body: string) => string;
}

/**
 * The body ends cleanly after so many of its lines: as whole as any other answer, for all that the
 * client can see.
 */
export interface FakeShortReply {
  readonly endAfterLines: number;
}

/** What goes wrong with an answer of the fake. */
export interface FakeReplyFault {
  readonly status: number;
  readonly body?: Json;
  /**
   * In place of `body`: a body that is no JSON, as the page of a proxy. Its type goes into
   * `headers`; default text/html.
   */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One line that a batch took in. Never forgotten: duplicates are counted here, at the provider. */
export interface FakeExecution {
  readonly batchId: string;
  readonly customId: string;
  /** What `identify` said: the same for every try of one request. */
  readonly identity: string;
  readonly acceptedAt: number;
  /** Whether it has been run by now. A line of a cancelled or expired batch may never be. */
  readonly ran: boolean;
  /** How it ended; null while it has not been run. */
  readonly status: number | null;
  readonly foreign: boolean;
}

/** Options of `fakeProvider`. */
export interface FakeOptions {
  /**
   * Wall time in milliseconds since 1970, and timers for delayed answers. Default: the machine's.
   */
  readonly clock?: Clock;
  /**
   * Every choice that the fake makes follows from it; the ids that it gives from it and from the
   * time of its start. Default 1.
   */
  readonly seed?: number;
  /**
   * `mistral`: Mistral's own files and jobs in place of those of OpenAI's shape, whose paths they
   * share.
   */
  readonly dialect?: FakeDialect | "mistral";
  readonly limits?: Partial<FakeLimits>;
  /**
   * How `POST /files/upload` answers in the dialect of Together: with a redirect to a storage that
   * takes the file by PUT, or with the file. Default "redirect".
   */
  readonly uploads?: "redirect" | "direct";
  /** Defaults for every batch, or a choice per batch. */
  readonly plan?: Partial<FakePlan> | ((batch: FakeBatchFacts, random: () => number) => Partial<FakePlan>);
  /** A created batch shows up in lists this long after. Default 0. */
  readonly listLagMs?: number;
  /** The same for retrieving it. Default 0. */
  readonly retrieveLagMs?: number;
  /** How far the provider's clock is ahead. Default 0. */
  readonly clockSkewMs?: number;
  /** Files are gone after this. Default 30 days. */
  readonly fileRetentionMs?: number;
  /**
   * Of OpenAI's shape and Gemini: an uploaded file is not processed before this, and no batch is
   * made from it. Default 0.
   */
  readonly filesPendingMs?: number;
  /** Models that exist; others fail validation. Default: all. */
  readonly models?: readonly string[];
  /** Default: an echo of the last user message, or a vector of its text. */
  readonly answer?: (line: FakeLine) => FakeAnswer;
  /**
   * What the validation of an OpenAI-shaped file has against a line, beside the checks of the fake.
   * Default: nothing.
   */
  readonly faultOf?: (line: FakeLine) => FakeLineFault | null;
  /** What tells one request from another, whatever its custom id. Default: a digest of the body. */
  readonly identify?: (line: FakeLine) => string;
  /**
   * Where jobs read their inputs and write their outputs: a `fakeS3()` for Bedrock, a `fakeGcs()`
   * for Vertex AI. Faults given to this fake go there too. Default: nothing is there.
   */
  readonly storage?: FakeObjects;
}

/** What a fault may look at before it strikes. */
export interface FakeBatchFacts {
  /** How many batches came before it. */
  readonly index: number;
  readonly requests: number;
  readonly model: string;
}

/** A batch of somebody else in the same workspace. */
export interface ForeignBatch {
  readonly requests: number;
  readonly surface?: FakeSurface;
  readonly plan?: Partial<FakePlan>;
}

/** A batch as a test sees it from behind the counter. */
export interface FakeBatchView {
  readonly id: string;
  readonly surface: FakeSurface;
  /** In OpenAI's words on both surfaces. */
  readonly state: string;
  readonly requests: number;
  readonly acceptedAt: number;
  readonly foreign: boolean;
}

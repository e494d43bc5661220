// Types of the fake provider: its options, plans and records. All spans and times are in ms on the
// fake's clock.

import type { Clock } from "../../core/time/clock.ts";
import type { JsonObject } from "../../dispatch/contract/types.ts";
import type { FakeFault } from "./fault-types.ts";

/** The wire formats that the fake speaks. */
export type FakeSurface = "openai" | "anthropic" | "gemini" | "mistral" | "xai" | "bedrock" | "vertex";

/** Variants of OpenAI's wire format. */
export type FakeDialect =
  | "openai"
  | "azure"
  | "groq"
  | "together"
  | "doubleword"
  | "dashscope"
  | "deepinfra"
  | "novita"
  | "siliconflow"
  | "voyage";

/** Dialects with a surface of their own in place of OpenAI's. */
export type FakeOwnSurface = "mistral" | "xai";

/** The objects of a fake storage, and the faults in its calls. */
export interface FakeObjects {
  /** An object's bytes; null if it does not exist. */
  read(bucket: string, name: string): Uint8Array | null;
  /** Writes an object, as another client would. */
  write(bucket: string, name: string, bytes: Uint8Array | string): void;
  /** Adds a fault for future calls. Faults of one operation hit in order. */
  inject(fault: FakeFault): void;
  /** Number of calls that a fault has hit. */
  readonly faultsHit: number;
  /** Removes all faults that have not hit yet. */
  heal(): void;
}

/** The limits that the fake enforces. */
export interface FakeLimits {
  /** Minimum lines; fewer fail validation, as with some providers. 1. */
  readonly minLines: number;
  /** Maximum lines in one file. OpenAI 50_000, Mistral 100_000. */
  readonly maxLines: number;
  /** Maximum bad lines that validation of an OpenAI-shaped file names. 50. */
  readonly namedFaults: number;
  /** Maximum texts to embed in one file, over all lines. OpenAI 50_000. */
  readonly maxEmbeddingInputs: number;
  /** Maximum files kept without `expires_after`. Azure 500; else Infinity. */
  readonly maxLastingFiles: number;
  /** Maximum bytes of one uploaded file. OpenAI 200_000_000, Mistral 512_000_000. */
  readonly maxFileBytes: number;
  /** Maximum items of one Anthropic batch. 100_000. */
  readonly maxItems: number;
  /** Maximum bytes of one Anthropic create. 256_000_000. */
  readonly maxBodyBytes: number;
  /** Maximum bytes of one Gemini create, with its requests. 20_971_520. */
  readonly maxCreateBytes: number;
  /** Maximum bytes of one file at Gemini. 2_000_000_000. */
  readonly maxUploadBytes: number;
  /** Maximum lines of one job at Vertex AI. 200_000. */
  readonly maxJobLines: number;
  /** Maximum input bytes of one job at Vertex AI. 1_000_000_000. */
  readonly maxJobBytes: number;
  /** Vertex AI: maximum Claude jobs that wait or run at once. 4. */
  readonly claudeJobs: number;
  /** Gemini: maximum batches that wait or run at once. 100. */
  readonly concurrentBatches: number;
  /** Maximum enqueued prompt tokens per model, by `batchwise`'s estimate. Infinity. */
  readonly enqueuedTokens: number;
  /** A batch refused for its tokens counts this long after it failed, in ms. 0. */
  readonly failedCountsForMs: number;
  /** Anthropic and Mistral: maximum enqueued items in total. Infinity, at Mistral 1_000_000. */
  readonly enqueuedItems: number;
  /** Maximum batches created in one hour. 2_000. */
  readonly createsPerHour: number;
}

/** The course of one batch. Times in ms from its acceptance. */
export interface FakePlan {
  readonly validateMs: number;
  readonly runMs: number;
  readonly finalizeMs: number;
  /** From the cancel to its end, in ms. */
  readonly cancelMs: number;
  /** A cancelled batch that would end within `cancelMs` completes instead. */
  readonly completesDespiteCancel: boolean;
  /** Share of lines that have run when the window ends; null: as many as time allowed. */
  readonly expiredShare: number | null;
  /**
   * Fails after validation with this fault, whether or not its lines are valid. `line` counts from
   * 1.
   */
  readonly failWith: FakeLineFault | null;
  /** Fails after validation without a reason. */
  readonly failSilently: boolean;
  /** A failed batch still names both result files; they are empty. */
  readonly failedNamesFiles: boolean;
  readonly order: "shuffled" | "input";
  /** Number of result lines left out, and of those written twice. */
  readonly missingLines: number;
  readonly duplicateLines: number;
  /** Share of items that end with `failedStatus`. */
  readonly failedShare: number;
  /** A provider's error status: 500, 429, 529. 500. */
  readonly failedStatus: number;
  /** Writes an empty error file if nothing failed. */
  readonly emptyErrorFile: boolean;
  /** How the batch names an absent file. */
  readonly absentFile: "null" | "empty" | "omitted";
  /** The spelling of states. */
  readonly stateCase: "lower" | "capitalised" | "upper";
  /** Time after the end in which results are not named yet, in ms. 0. */
  readonly resultsLagMs: number;
  /** Time after the end in which counts are 0 or absent, in ms. 0. */
  readonly countsLagMs: number;
  /** Replaces `in_progress` by this unknown state. */
  readonly strangeState: string | null;
}

/** A fault of one line. */
export interface FakeLineFault {
  readonly code: string;
  readonly message: string;
  readonly line?: number | null;
  readonly param?: string | null;
}

/** One line as the fake runs it. For Anthropic, `body` is `params`. */
export interface FakeLine {
  readonly customId: string;
  readonly endpoint: string;
  readonly body: JsonObject;
}

/**
 * The result of a line: 2xx is a success. Must depend only on the line, because it may be computed
 * more than once.
 */
export interface FakeAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

/**
 * One line that a batch accepted. Never forgotten, so that duplicates are counted at the provider.
 */
export interface FakeExecution {
  readonly batchId: string;
  readonly customId: string;
  /** The result of `identify`: equal for all tries of one request. */
  readonly identity: string;
  readonly acceptedAt: number;
  /** Whether it has run by now. A line of a cancelled or expired batch may never run. */
  readonly ran: boolean;
  /** The HTTP status of its result; null if it has not run. */
  readonly status: number | null;
  readonly foreign: boolean;
}

/** Options of `fakeProvider`. */
export interface FakeOptions {
  /** Wall time in ms since 1970, and timers for delayed answers. Default: the machine's clock. */
  readonly clock?: Clock;
  /** Seed of all random choices. Ids depend on it and on the start time. Default 1. */
  readonly seed?: number;
  /**
   * The dialect. `mistral` and `xai`: their files and batches in place of OpenAI's, because the
   * paths are equal.
   */
  readonly dialect?: FakeDialect | FakeOwnSurface;
  readonly limits?: Partial<FakeLimits>;
  /**
   * Together's answer to `POST /files/upload`: a redirect to a storage that takes the file by PUT,
   * or the file. Default "redirect".
   */
  readonly uploads?: "redirect" | "direct";
  /** The plan of every batch, or a function that returns it for each. */
  readonly plan?: Partial<FakePlan> | ((batch: FakeBatchFacts, random: () => number) => Partial<FakePlan>);
  /** Delay before a created batch appears in lists, in ms. Default 0. */
  readonly listLagMs?: number;
  /** Delay before it can be retrieved, in ms. Default 0. */
  readonly retrieveLagMs?: number;
  /** How far the provider's clock is ahead, in ms. Default 0. */
  readonly clockSkewMs?: number;
  /** Files expire after this time, in ms. Default 30 days. */
  readonly fileRetentionMs?: number;
  /**
   * OpenAI and Gemini: processing time of an uploaded file, in ms. Until then no batch can use it.
   * Default 0.
   */
  readonly filesPendingMs?: number;
  /** Known models; others fail validation. Default: all. */
  readonly models?: readonly string[];
  /** The model's answer. Default: an echo of the last user message, or a vector of its text. */
  readonly answer?: (line: FakeLine) => FakeAnswer;
  /** Additional validation of a line of an OpenAI-shaped file. Default: none. */
  readonly faultOf?: (line: FakeLine) => FakeLineFault | null;
  /** Identifies a request, independent of its custom id. Default: a digest of the body. */
  readonly identify?: (line: FakeLine) => string;
  /**
   * Storage of job inputs and outputs: a `fakeS3()` for Bedrock, a `fakeGcs()` for Vertex AI.
   * Faults given to this fake apply there too. Default: empty.
   */
  readonly storage?: FakeObjects;
}

/** The facts about a batch from which its plan may be chosen. */
export interface FakeBatchFacts {
  /** Number of earlier batches. */
  readonly index: number;
  readonly requests: number;
  readonly model: string;
}

/** A batch of another client in the same workspace. */
export interface ForeignBatch {
  readonly requests: number;
  readonly surface?: FakeSurface;
  readonly plan?: Partial<FakePlan>;
}

/** A batch, with facts that its client cannot see. */
export interface FakeBatchView {
  readonly id: string;
  readonly surface: FakeSurface;
  /** OpenAI's names on all surfaces. */
  readonly state: string;
  readonly requests: number;
  readonly acceptedAt: number;
  readonly foreign: boolean;
}

// What a provider takes and finds, and its limits: the facts by which the dispatcher treats
// accounts differently. Types only.

import type { TagKind } from "./tag-kind.ts";
import type { Endpoint } from "./types.ts";

/** A provider's features and limits. */
export interface Capabilities {
  /** The service's name in logs: "openai", "azure", "groq", "together", "anthropic". */
  readonly provider: string;
  /** Batch endpoints. Requests for any other are refused at `enqueue`. No spaces, no `#`. */
  readonly endpoints: readonly Endpoint[];
  /** Endpoints in the provider's own format: only `model` of `requestDefaults` applies. */
  readonly nativeEndpoints?: readonly Endpoint[];
  /**
   * Maximum bytes of a batch inside its create; larger ones are uploaded first. 0: always a file.
   * Infinity: always inline. The choice is stored with the first try and holds for all later ones.
   */
  readonly maxInlineBytes: number;
  readonly tag: TagKind;
  readonly list: {
    /** False: one call returns all batches. */
    readonly paged: boolean;
    readonly pageSize: number;
    /** True: newest first, so paging may stop at the attempt's start. */
    readonly newestFirst: boolean;
  };
  /** Uploads can be listed by name, so that unused ones are found and deleted. */
  readonly listsFiles: boolean;
  /** Whether the enqueued limits apply to the whole account or per model. */
  readonly ledgerScope: "account" | "model";
  /** Set by the account's option `fallback`. Default false. */
  readonly fallback?: boolean;
  /**
   * In ms: the longest run of a batch. If a request has a deadline and a fallback account serves
   * it, this estimates the account's batch time until one has ended. Absent: 24 hours.
   */
  readonly completionWindowMs?: number;
  /**
   * JSON schemas that it takes for answers: "any", or "strict" ones, whose objects are closed and
   * require all properties; these are sent without bounds such as `minimum`. Absent: none.
   */
  readonly jsonSchemas?: JsonSchemas;
  readonly limits: ProviderLimits;
}

export type JsonSchemas = "any" | "strict";

/** Default limits, which the user overrides with `limits`; Infinity if there is none. */
export interface ProviderLimits {
  readonly maxRequests: number;
  readonly maxBytes: number;
  /** Per batch. */
  readonly maxTokens: number;
  /** The provider refuses a smaller batch. */
  readonly minRequests: number;
  readonly maxEnqueuedTokens: number;
  readonly maxEnqueuedRequests: number;
  readonly maxEnqueuedBatches: number;
  /** Maximum creates per hour; half is reserved for parts of refused batches. Absent: no limit. */
  readonly maxCreatesPerHour?: number;
  /** Maximum inputs of an embeddings batch, summed over its requests. Absent: no limit. */
  readonly maxInputs?: number;
}

// What an account says of a request for a prompt cache. Types only.

/** The part of a request that a provider's prompt cache keeps. */
export interface CachedPrefix {
  /** Equal for equal prefixes of one model. Short, and without a space. */
  readonly digest: string;
  /** How long it is kept, in ms. */
  readonly lastsMs: number;
}

// What an error of an account means for the batch: the answers of `Account.classify`. Types only.

/** A line that the provider's validation blames. `line` counts from 1 and is `ord` + 1. */
export interface LineFault {
  readonly line: number;
  readonly code: string;
  readonly message: string;
}

/**
 * The meaning of an error for the batch. Anything not listed is `unknown`, which is always safe.
 */
export type Failure =
  /**
   * Refused or never sent (a refused connection, 404, 409 if it proves refusal); nothing runs. May
   * work later. `filePending`: the file is not processed yet; the create is repeated within
   * seconds.
   */
  | {
      readonly kind: "definitelyNotCreated";
      readonly code: string;
      readonly message: string;
      readonly filePending?: true;
    }
  /** Timeout, reset, abort, 408, 5xx: it may have succeeded. */
  | { readonly kind: "unknown"; readonly code: string; readonly message: string }
  /** 429 for too many calls; nothing runs. */
  | {
      readonly kind: "rateLimited";
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs: number | null;
    }
  /** The enqueued limit is reached. `limitTokens`: the limit in the message. Charges no attempt. */
  | {
      readonly kind: "tokenLimit";
      readonly code: string;
      readonly message: string;
      readonly limitTokens: number | null;
    }
  /** 401, 402, 403, spend limits, a wrong address. Pauses the account, charges no attempt. */
  | { readonly kind: "authOrBilling"; readonly code: string; readonly message: string }
  /**
   * The batch itself is refused (400, 413, 422, validation). `lines`: blamed requests; empty blames
   * the whole batch.
   */
  | {
      readonly kind: "invalidRequest";
      readonly code: string;
      readonly message: string;
      readonly lines: readonly LineFault[];
    };

/** Names of an account's calls, for `classify`. */
export type Operation =
  | "upload"
  | "create"
  | "list"
  | "find"
  | "retrieve"
  | "results"
  | "execute"
  | "cancel"
  | "files"
  | "cleanup";

// What a provider keeps of ours with a batch. Types only.

/** How our batch is found again at the provider. */
export type TagKind =
  /** The create carries key and attempt, and lists return them. */
  | "metadata"
  /** No tag, but lists return the uploaded file's id. Attempts of one batch may share a file. */
  | "inputFile"
  /**
   * A repeated create with the same token (key and attempt) returns the same batch, so there is
   * nothing to reconcile. The provider checks the token before lines and limits.
   */
  | "idempotencyToken"
  /**
   * Lists return nothing of ours: one create at a time per account, and an unknown id is adopted.
   */
  | "none";

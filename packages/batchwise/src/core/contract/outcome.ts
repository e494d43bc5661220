// How things end and why they start: the words that all parts of the engine share.

/** How a submitted item ended. */
export type ItemOutcome = "completed" | "failed" | "cancelled" | "expired" | "rejected";

/** Every way to end but with a result. */
export type FailedOutcome = Exclude<ItemOutcome, "completed">;

/** Why a batch was sent. */
export type BatchReason = "size" | "cost" | "idle" | "wait" | "preferred" | "deadline" | "flush" | "drain";

// Names of outcomes and batch reasons, for all parts of the engine.

/** How a submitted item ended. */
export type ItemOutcome = "completed" | "failed" | "cancelled" | "expired" | "rejected";

/** All outcomes but a result. */
export type FailedOutcome = Exclude<ItemOutcome, "completed">;

/** Why a batch was sent. */
export type BatchReason = "size" | "cost" | "idle" | "wait" | "preferred" | "deadline" | "flush" | "drain";

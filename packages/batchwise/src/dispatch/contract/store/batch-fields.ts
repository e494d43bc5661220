// The fields of a batch by their kinds: the one list for the columns of SQL, the texts of Redis and
// the rows in memory. Pure.

import type { BatchRow } from "./rows.ts";

/** All but the orphans, which stores keep apart. */
export const BATCH_FIELDS = {
  texts: ["key", "lane", "account", "ledger", "state"],
  textsOrNull: [
    "providerFileId",
    "providerBatchId",
    "providerState",
    "shortReads",
    "disposal",
    "lastError",
    "leaseOwner",
  ],
  numbers: [
    "requests",
    "bytes",
    "tokens",
    "remaining",
    "cancelRequested",
    "createdAt",
    "updatedAt",
    "submitAttempt",
    "tries",
    "wholeFailures",
    "lostLooks",
    "breaks",
    "failedReads",
    "unreadableReads",
    "failedSteps",
    "pollMs",
    "nextAt",
    "leaseUntil",
    "fence",
  ],
  numbersOrNull: [
    "submitStartedAt",
    "unknownSince",
    "triesSince",
    "firstRefusedAt",
    "lastRefusedAt",
    "splitAt",
    "filePendingSince",
    "lostSince",
    "cancelSentAt",
    "expiresAt",
    "deadlineAt",
  ],
  flags: ["verified"],
  flagsOrNull: ["inline"],
} as const;

type Of<Kind extends keyof typeof BATCH_FIELDS> = (typeof BATCH_FIELDS)[Kind][number];
type Missing = Exclude<keyof BatchRow, Of<keyof typeof BATCH_FIELDS> | "orphans">;
/** The list does not have this type while a field is missing. */
type Kinds = Readonly<Record<keyof typeof BATCH_FIELDS | Missing, readonly (keyof BatchRow)[]>>;
type Blank = { readonly [Name in Of<"textsOrNull" | "numbersOrNull" | "flagsOrNull">]: null } & {
  readonly [Name in Of<"numbers">]: number;
};

const { textsOrNull, numbers, numbersOrNull, flagsOrNull }: Kinds = BATCH_FIELDS;

/** A batch of which nothing is known: null, or 0. */
export const BLANK_BATCH: Blank = Object.fromEntries([
  ...[...textsOrNull, ...numbersOrNull, ...flagsOrNull].map((name) => [name, null]),
  ...numbers.map((name) => [name, 0]),
]) as Blank;

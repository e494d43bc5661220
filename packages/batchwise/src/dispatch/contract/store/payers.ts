// Payers: jobs and tenants with a limit of price, as a Store keeps them. Types only.
//
// Amounts are whole numbers up to 2^53, in a unit of the dispatcher. All requests of a lane have
// the same payers. A seal for payers reserves the sum of its members' prices with each of them. A
// settle adds what its items cost to their `spent` and, if it leaves no open member, releases the
// batch's reservation. Both in their own transaction, so a reservation is neither lost nor doubled.
// Batches without payers touch none of it.

/** Who pays for batches, up to a limit that all processes share. */
export interface PayerRow {
  readonly name: string;
  /** Infinity for none. */
  readonly limit: number;
  /** For answers, since the payer is known. */
  readonly spent: number;
  /** Sum over its batches with open members. */
  readonly reserved: number;
}

/** A payer's limit. A payer that is not known begins with this much spent; others keep theirs. */
export type PayerChange = Pick<PayerRow, "name" | "limit" | "spent">;

// Cancels a batch at a provider. One that has ended cannot be cancelled, and each provider refuses
// that in its own way: then the batch is the answer.

import { hasEnded, type ProviderBatch } from "../../contract/account.ts";

/** The ways of one provider. */
interface Cancelling {
  /** null if the answer does not have the batch. */
  readonly cancel: () => Promise<ProviderBatch | null>;
  /** True for an error that may say that the batch has ended. */
  readonly isRefusal: (error: unknown) => boolean;
  readonly retrieve: () => Promise<ProviderBatch | null>;
}

/** Rejects with the refusal of a batch that has not ended, and for a batch that is gone. */
export async function cancelBatch({ cancel, isRefusal, retrieve }: Cancelling): Promise<ProviderBatch> {
  let refusal: unknown = null;
  try {
    const seen = await cancel();
    if (seen !== null) return seen;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    refusal = error;
  }
  const seen = await retrieve();
  if (seen === null) throw refusal ?? new Error("The cancelled batch is gone.");
  if (refusal !== null && !hasEnded(seen) && seen.state !== "cancelling") throw refusal;
  return seen;
}

// Cancels a batch at a provider. Providers refuse, each in its own way, to cancel a batch that has
// ended or whose results are being written: then the batch is the answer.

import type { ProviderBatch, ProviderState } from "../../contract/account.ts";

/** States in which a refused cancel changes nothing: the batch goes on. */
const WORKING: readonly ProviderState[] = ["validating", "running"];

/** The ways of one provider. */
interface Cancelling {
  /** null if the answer does not have the batch. */
  readonly cancel: () => Promise<ProviderBatch | null>;
  /** True for an error that may say that the batch has ended. */
  readonly isRefusal: (error: unknown) => boolean;
  readonly retrieve: () => Promise<ProviderBatch | null>;
}

/** Rejects with the refusal if the batch still runs, and with an error if it does not exist. */
export async function cancelBatch(id: string, { cancel, isRefusal, retrieve }: Cancelling): Promise<ProviderBatch> {
  let refusal: unknown = null;
  try {
    const seen = await cancel();
    if (seen !== null) return seen;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    refusal = error;
  }
  const seen = await retrieve();
  if (seen === null) throw refusal ?? new Error(`The batch ${id} is gone.`);
  if (refusal !== null && WORKING.includes(seen.state)) throw refusal;
  return seen;
}

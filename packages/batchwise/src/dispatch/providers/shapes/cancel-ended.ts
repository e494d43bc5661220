// A batch that has ended cannot be cancelled, and each provider refuses that in its own way: then
// the state of the batch is the answer.

import { hasEnded, type ProviderBatch } from "../../contract/account.ts";

export async function cancelOrEnded(
  cancel: () => Promise<ProviderBatch>,
  isRefusal: (error: unknown) => boolean,
  retrieve: () => Promise<ProviderBatch | null>,
): Promise<ProviderBatch> {
  try {
    return await cancel();
  } catch (error) {
    const seen = isRefusal(error) ? await retrieve() : null;
    if (seen === null || !hasEnded(seen)) throw error;
    return seen;
  }
}

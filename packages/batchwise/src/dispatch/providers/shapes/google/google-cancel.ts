// Cancels a batch at Google's services. Their states do not show a pending cancel; the answer to
// the call does.

import { hasEnded, type ProviderBatch } from "../../../contract/account.ts";
import { readSdkError } from "../sdk/sdk-error.ts";

/**
 * Makes the call, then returns the batch's current state. `look` returns null for a missing batch.
 */
export async function cancelAndLook(
  id: string,
  cancel: () => PromiseLike<unknown>,
  look: () => Promise<ProviderBatch | null>,
): Promise<ProviderBatch> {
  let refusal: unknown = null;
  try {
    await cancel();
  } catch (error) {
    const { status } = readSdkError(error);
    // A batch that has ended cannot be cancelled.
    if (status !== 400 && status !== 409) throw error;
    refusal = error;
  }
  const seen = await look();
  if (seen === null || (refusal !== null && !hasEnded(seen))) throw refusal ?? new Error(`The batch ${id} is gone.`);
  return hasEnded(seen) ? seen : { ...seen, state: "cancelling" };
}

// A cancel at Google's services, whose states do not tell that a batch is being cancelled: the
// answer to the call does.

import { hasEnded, type ProviderBatch } from "../../contract/account.ts";
import { readSdkError } from "./sdk-error.ts";

/**
 * Makes the call, looks the batch up, and gives it as it is then. `look` gives null for a batch
 * that is not there.
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
    // What has ended cannot be cancelled any more.
    if (status !== 400 && status !== 409) throw error;
    refusal = error;
  }
  const seen = await look();
  if (seen === null || (refusal !== null && !hasEnded(seen))) throw refusal ?? new Error(`The batch ${id} is gone.`);
  return hasEnded(seen) ? seen : { ...seen, state: "cancelling" };
}

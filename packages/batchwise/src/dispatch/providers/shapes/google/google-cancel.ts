// Cancels a batch at Google's services. Their states do not show a pending cancel; the answer to
// the call does.

import { hasEnded, type ProviderBatch } from "../../../contract/account.ts";
import { cancelBatch } from "../cancel-batch.ts";
import { readSdkError } from "../sdk/sdk-error.ts";

/** `call` makes the call; `look` returns the batch's current state, or null for a missing batch. */
export async function cancelAndLook(
  id: string,
  call: () => PromiseLike<unknown>,
  look: () => Promise<ProviderBatch | null>,
): Promise<ProviderBatch> {
  const seen = await cancelBatch(id, {
    cancel: async () => {
      await call();
      return null;
    },
    isRefusal: (error) => [400, 409].includes(readSdkError(error).status ?? 0),
    retrieve: look,
  });
  return hasEnded(seen) ? seen : { ...seen, state: "cancelling" };
}

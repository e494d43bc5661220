// Calls on objects that may no longer exist at the provider.

import { isMissing } from "./classify-status.ts";

/** The answer of the call; null if the provider says that the object does not exist. */
export async function unlessMissing<Answer>(
  call: () => PromiseLike<Answer>,
  isGone: (error: unknown) => boolean = isMissing,
): Promise<Answer | null> {
  try {
    return await call();
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

// The error of an answer that does not have one result for each input.

import { BatchwiseError, namelessError } from "../../core/contract/errors.ts";

export function countError(count: number, came: string): Error {
  const results = count === 1 ? "1 result" : `${count} results`;
  const message = `Expected the pipeline to return ${results}, one for each input, got ${came}`;
  return namelessError(new BatchwiseError({ code: "BATCH_RESULT", message, retryable: false }));
}

// Classifies Anthropic's errors. `details.error_code` is more precise than the type. Pure.

import type { Failure, Operation } from "../../contract/failures.ts";
import { classifyStatus } from "../shapes/sdk/classify-status.ts";
import { objectOf, readSdkError, text } from "../shapes/sdk/sdk-error.ts";

export function classify(error: unknown, operation: Operation): Failure {
  const read = readSdkError(error);
  const code = text(objectOf(error).errorCode) ?? read.code ?? read.type;
  // A create names no object that could be missing, because items are checked later. So a 404 means
  // a wrong address.
  const isNameless = operation === "create" && /^not found\.?$/i.test(read.message);
  return classifyStatus({ ...read, code }, isNameless ? "upload" : operation);
}

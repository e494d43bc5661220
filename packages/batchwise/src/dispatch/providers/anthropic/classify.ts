// What an error of Anthropic's means for the batch. Pure. `details.error_code` says more than the
// type does.

import type { Failure, Operation } from "../../contract/account.ts";
import { classifyStatus } from "../shapes/classify-status.ts";
import { objectOf, readSdkError, text } from "../shapes/sdk-error.ts";

export function classify(error: unknown, operation: Operation): Failure {
  const read = readSdkError(error);
  const code = text(objectOf(error).errorCode) ?? read.code ?? read.type;
  // Items are looked at later: a create names nothing that could be missing but its address.
  const isNameless = operation === "create" && /^not found\.?$/i.test(read.message);
  return classifyStatus({ ...read, code }, isNameless ? "upload" : operation);
}

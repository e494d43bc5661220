// What an error of Anthropic's means for the batch. Pure. Money comes before statuses: it is told with 400, 402 or 403.

import type { Failure, Operation } from "../../contract/account.ts";
import { classifyStatus, objectOf, readSdkError, text } from "../shapes/sdk-error.ts";

const BILLING = /credit balance|spend(?:ing)?[ _]?limit|billing|organization[ _]?on[ _]?hold/i;

export function classify(error: unknown, _operation: Operation): Failure {
  const read = readSdkError(error);
  const code = text(objectOf(error).errorCode) ?? read.code ?? read.type;
  const answered = read.status !== null && read.status >= 400 && read.status < 500;
  if (answered && (BILLING.test(read.message) || BILLING.test(code ?? ""))) {
    return { kind: "authOrBilling", code: code ?? "billing_error", message: read.message };
  }
  return classifyStatus({ ...read, code });
}

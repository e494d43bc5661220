// The codes of providers from which the dispatcher concludes more than the kind of a failure says.

import { expect, test } from "vitest";
import { isOfTheKey, isOfTheModel, isTooLarge } from "../../../src/dispatch/accounts/provider-codes.ts";

test.each<[code: string, tooLarge: boolean, model: boolean]>([
  ["too_many_tasks", true, false],
  ["request_too_large", true, false],
  ["http_413", true, false],
  ["model_not_found", false, true],
  ["model_mismatch", false, true],
  ["mismatched_model", false, true],
  ["invalid_request_error", false, false],
])("%s says that the batch is too large, or the model is not there: %s, %s", (code, tooLarge, model) => {
  expect([isTooLarge(code), isOfTheModel(code)]).toEqual([tooLarge, model]);
});

test.each<[code: string, message: string, isOf: boolean]>([
  ["invalid_api_key", "No.", true],
  ["http_400", "API key not valid.", true],
  ["http_402", "Add credit.", false],
])("%s: %s blames the key: %s", (code, message, isOf) => {
  expect(isOfTheKey({ kind: "authOrBilling", code, message })).toBe(isOf);
});

// How a request that Gemini cannot be asked is refused.

import { DispatchError } from "../../../contract/errors.ts";

export function invalid(reason: string): DispatchError {
  return new DispatchError("INVALID_REQUEST", `The request cannot be sent to Gemini: ${reason}.`);
}

export function unsupported(what: string): DispatchError {
  return invalid(`${what} has no counterpart there`);
}

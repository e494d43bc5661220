/**
 * Makes the id of a request that comes without one; it is in the answer's `x-request-id` and in the
 * access log.
 */

import { randomUUID } from "node:crypto";

export function newRequestId(): string {
  return `req_${randomUUID().replaceAll("-", "")}`;
}

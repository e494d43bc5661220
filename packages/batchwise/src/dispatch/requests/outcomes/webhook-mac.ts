// Standard Webhooks (standardwebhooks.com): an HMAC-SHA256 proves who sent an event.

import { createHmac } from "node:crypto";

/** The HMAC over `<id>.<seconds>.<body>`; `seconds` since 1970. */
export function webhookMac(key: string | Buffer, id: string, seconds: string | number, body: string): Buffer {
  return createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest();
}

// Standard Webhooks (standardwebhooks.com): who sends an event proves it with an HMAC-SHA256.

import { createHmac } from "node:crypto";

/** The code over `<id>.<seconds>.<body>`; `seconds` since 1970. */
export function webhookMac(key: string | Buffer, id: string, seconds: string | number, body: string): Buffer {
  return createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest();
}

// What Redis' errors mean, in the dispatcher's words.

import { messageOf } from "../../../redis/redis-client.ts";
import { DispatchError, type DispatchErrorCode } from "../../contract/errors.ts";

/**
 * What a server says of a right that was taken away after the script had found it. Redis 7.0 does
 * not name the command.
 */
const REVOKED = /^(?:ERR The user executing the script can't (?:run|access)|NOPERM ACL failure)/;
const RIGHTS = "The rights that suffice are in the docs of the store";

const FAULTS: Readonly<Record<string, readonly [code: DispatchErrorCode, what: string]>> = {
  OOM: ["STORE_FULL", "Redis has no memory left"],
  READONLY: ["STORE_READ_ONLY", "Redis cannot be written to"],
  MASTERDOWN: ["STORE_UNAVAILABLE", "Redis is a replica without its primary"],
  MOVED: ["STORE_UNAVAILABLE", "Redis is a node of a cluster, and another has the keys; ioredis' `Cluster` finds it"],
  NOREPLICAS: ["STORE_READ_ONLY", "Redis cannot be written to"],
  NOAUTH: ["STORE_FORBIDDEN", "Redis wants a login"],
  WRONGPASS: ["STORE_FORBIDDEN", "Redis refuses the login"],
  DENIED: ["STORE_FORBIDDEN", "Redis takes no connections from here"],
  NOPERM: ["STORE_FORBIDDEN", `The user may not do all that the store does in Redis. ${RIGHTS}`],
  HELD: ["STORE_UNAVAILABLE", "Redis holds data of an earlier version"],
  LAYOUT: ["STORE_SCHEMA", "Redis holds data of a later version"],
  WRONGTYPE: ["STORE_DAMAGED", "Keys of the store in Redis hold what another program wrote"],
};

/**
 * Redis says by the first word what it refuses. Reads go on where it is full or cannot be written
 * to.
 */
export function storeError(error: unknown): DispatchError {
  if (error instanceof DispatchError) return error;
  const reason = messageOf(error);
  const [code, what] = faultOf(reason);
  return new DispatchError(code, `${what}: ${reason}.`, error);
}

function faultOf(reason: string): readonly [code: DispatchErrorCode, what: string] {
  if (REVOKED.test(reason)) return ["STORE_FORBIDDEN", `A right was taken away from the user. ${RIGHTS}`];
  const word = /^[A-Z]+/.exec(reason)?.[0] ?? "";
  if (word === "MISCONF") {
    return reason.includes("No space left")
      ? ["STORE_FULL", "The disk of Redis is full"]
      : ["STORE_READ_ONLY", "Redis cannot write to its disk"];
  }
  return FAULTS[word] ?? ["STORE_UNAVAILABLE", "Redis failed"];
}

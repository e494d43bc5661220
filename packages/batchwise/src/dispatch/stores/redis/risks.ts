// Finds settings of a server that can lose data of the store. Pure.

import { DispatchError } from "../../contract/errors.ts";

const UNREAD =
  "The user may not run INFO (+info): whether Redis evicts keys, keeps an append-only file and is a replica is not known.";
const NO_FILE =
  "Redis keeps no append-only file: what it has answered since its last snapshot is lost when it ends. Set `appendonly yes`.";
const REPLICA =
  "This Redis is a replica: it refuses writes, and what it reads may be old. Lead the address to the primary.";

/**
 * `values`: the policy, the memory in bytes, whether there is an append-only file, the role; "" if
 * unknown.
 */
export function riskOf(values: readonly string[], allowEviction: boolean): DispatchError | null {
  const [policy = "", maxMemory = "", file = "", role = ""] = values;
  const evicts = policy.startsWith("allkeys-") && Number(maxMemory) > 0;
  const found = [
    ...(values.includes("") ? [UNREAD] : []),
    ...evictionWords(policy, maxMemory, evicts && !allowEviction),
    ...(file === "0" ? [NO_FILE] : []),
    ...(role === "slave" ? [REPLICA] : []),
  ];
  if (found.length === 0) return null;
  return new DispatchError(evicts && !allowEviction ? "STORE_EVICTS" : "STORE_AT_RISK", found.join(" "));
}

function evictionWords(policy: string, maxMemory: string, isRefused: boolean): string[] {
  if (policy === "" || policy === "noeviction") return [];
  const setting = `\`maxmemory-policy ${policy}\``;
  if (!policy.startsWith("allkeys-")) {
    return [`Redis has ${setting}: it evicts nothing of the store, whose keys do not expire. Set \`noeviction\`.`];
  }
  if (Number(maxMemory) === 0) return [`Redis has ${setting}: once \`maxmemory\` is set, it throws requests away.`];
  const other = isRefused ? ", or accept the loss by `redisStore({ allowEviction: true })`" : "";
  const what = `at its \`maxmemory\` of ${maxMemory} bytes it throws requests and outcomes away, in silence`;
  return [`Redis has ${setting}: ${what}. Set \`maxmemory-policy noeviction\`${other}.`];
}

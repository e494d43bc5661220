// The complete script, in one version for calls that write and one for calls that only read. The
// first line tells the server (7.0 or later) which it is: a server that cannot write (no memory
// left, a replica) refuses the writing version before it begins, instead of in the middle, and
// still runs the reading version.

import { hash } from "node:crypto";
import type { Script } from "../../../redis/redis-client.ts";
import { AMEND } from "./script-amend.ts";
import { BATCHES } from "./script-batches.ts";
import { COMMON } from "./script-common.ts";
import { ENDINGS } from "./script-endings.ts";
import { EPOCH } from "./script-epoch.ts";
import { FINDING } from "./script-finding.ts";
import { LAYOUTS } from "./script-layouts.ts";
import { OUTCOMES } from "./script-outcomes.ts";
import { PAYERS } from "./script-payers.ts";
import { PRUNING, TOMBSTONES } from "./script-pruning.ts";
import { REQUESTS } from "./script-requests.ts";
import { ROWS } from "./script-rows.ts";

const BODY = `${COMMON}${TOMBSTONES}${ENDINGS}${REQUESTS}${AMEND}${ROWS}${PAYERS}${BATCHES}${OUTCOMES}${FINDING}${PRUNING}${LAYOUTS}${EPOCH}`;

/** Commands that change nothing. Those of a reader's rights; all others are a writer's. */
const READING_COMMANDS: ReadonlySet<string> = new Set(
  (
    "EXISTS GET HEXISTS HGET HGETALL HKEYS HLEN HMGET HVALS LRANGE SCAN SMEMBERS SSCAN TIME XRANGE " +
    "ZCARD ZCOUNT ZRANGE ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANK ZSCORE"
  ).split(" "),
);
const COMMANDS: readonly string[] = [
  ...new Set(Array.from(BODY.matchAll(/\b(?:call|gather)\('([A-Z]+)'/g), ([, command]) => String(command))),
].sort();

const WRITING: Script = script(true, COMMANDS);
const READING: Script = script(
  false,
  COMMANDS.filter((command) => READING_COMMANDS.has(command)),
);

const READS: ReadonlySet<string> = new Set([
  "probe",
  "requests",
  "outcomes",
  "batches",
  "find",
  "usage",
  "now",
  "readMarks",
  "readPayers",
]);

/** The script that a method of the store is run in. */
export function scriptOf(method: string): Script {
  return READS.has(method) ? READING : WRITING;
}

function script(isWriting: boolean, needed: readonly string[]): Script {
  const first = isWriting ? "#!lua" : "#!lua flags=no-writes";
  const names = needed.map((command) => `'${command}'`).join(", ");
  const text = `${first}\nlocal WRITING = ${isWriting}\nlocal NEEDED = { ${names} }\n${BODY}`;
  return { text, hash: hash("sha1", text, "hex") };
}

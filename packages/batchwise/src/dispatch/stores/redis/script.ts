// The script, whole, once for calls that write and once for calls that only read. By the first line the server (7.0 or
// later) knows which it is: where it cannot take writes (no memory left, a replica) it refuses the one as a whole,
// instead of in the middle, and still runs the other.

import { hash } from "node:crypto";
import { BATCHES } from "./script-batches.ts";
import { COMMON } from "./script-common.ts";
import { ENDINGS } from "./script-endings.ts";
import { EPOCH } from "./script-epoch.ts";
import { FINDING } from "./script-finding.ts";
import { OUTCOMES } from "./script-outcomes.ts";
import { PRUNING, TOMBSTONES } from "./script-pruning.ts";
import { REQUESTS } from "./script-requests.ts";
import { ROWS } from "./script-rows.ts";

const BODY = `${COMMON}${TOMBSTONES}${ENDINGS}${REQUESTS}${ROWS}${BATCHES}${OUTCOMES}${FINDING}${PRUNING}${EPOCH}`;

/** A script, and what a server that has run it calls it. */
export interface Script {
  readonly text: string;
  readonly hash: string;
}

const WRITING: Script = script(`#!lua\nlocal WRITING = true\n${BODY}`);
const READING: Script = script(`#!lua flags=no-writes\nlocal WRITING = false\n${BODY}`);

const READS: ReadonlySet<string> = new Set(["probe", "requests", "outcomes", "batches", "find", "usage", "readMarks"]);

/** The script that a method of the store is run in. */
export function scriptOf(method: string): Script {
  return READS.has(method) ? READING : WRITING;
}

function script(text: string): Script {
  return { text, hash: hash("sha1", text, "hex") };
}

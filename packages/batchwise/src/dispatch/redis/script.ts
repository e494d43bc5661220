// The one script, whole. The first line makes the server (7.0 or later) refuse it as a whole when memory is full,
// instead of in the middle.

import { BATCHES } from "./script-batches.ts";
import { COMMON } from "./script-common.ts";
import { OUTCOMES } from "./script-outcomes.ts";
import { REQUESTS } from "./script-requests.ts";

export const SCRIPT: string = `#!lua\n${COMMON}${REQUESTS}${BATCHES}${OUTCOMES}`;

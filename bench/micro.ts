/**
 * What the pure functions cost a call, under mitata: the decisions of the engine, and the lines and names of the
 * dispatcher. For looking closer at one of them while it is being changed; no target hangs on these figures.
 *
 *   npm run bench:micro                    all of them
 *   npm run bench:micro -- pack            those whose name has this
 *
 * It measures the sources: what is not public has no other name. Nothing has to be built.
 */
import { parseArgs } from "node:util";
import { run } from "mitata";
import { decisions } from "./pure/decisions.ts";
import { lines } from "./pure/lines.ts";

const { positionals } = parseArgs({ allowPositionals: true });

decisions();
lines();
await run({ filter: new RegExp(positionals[0] ?? "") });

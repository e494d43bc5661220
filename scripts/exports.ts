// Writes `exports` and `typesVersions` of the library's package.json from its source folders, and
// its jsr.json from both.

import { findEntries, writeManifest } from "./library/entries.ts";
import { writeJsr } from "./library/jsr.ts";

const entries = findEntries();
writeManifest(entries);
writeJsr(entries);

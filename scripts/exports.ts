// Writes `exports` and `typesVersions` of the library's package.json from its source folders.

import { findEntries, writeManifest } from "./library/entries.ts";

writeManifest(findEntries());

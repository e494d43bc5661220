// `npm run compat`: installs the given folders, or all.

import { type Folder, folders, install } from "./folders.ts";

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !folders.includes(name as Folder));
if (unknown.length > 0) throw new Error(`Expected ${folders.join(", ")}, got ${unknown.join(", ")}`);
await install(wanted.length > 0 ? (wanted as Folder[]) : folders);

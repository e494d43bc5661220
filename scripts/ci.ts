// Runs everything that must pass before a change lands. The checks run at once, while the folders
// with their own lock are installed and the packages are built; then the tests, which wait for the
// end of the checks because some of them depend on time. Prints one line per step at the end, and
// exits with an error if one failed.

import { availableParallelism } from "node:os";
import { checksAfter } from "./checks.ts";
import { announce, folders } from "./folders.ts";
import { printResults, runSteps } from "./steps.ts";

const install = { name: "folders", command: "node scripts/install.ts" };
const build = { name: "build", command: "node scripts/build.ts" };
const checks = [install, build, ...checksAfter({ installed: [install.name], built: [build.name] })];

// Before the first step: its own output is printed when it ends.
announce(folders);
// One more than cores, because the installation waits for the network.
const checked = await runSteps(checks, { atOnce: availableParallelism() + 1 });
const isBuilt = checked.some(({ name, passed }) => name === build.name && passed);
// The layers and sizes are tests, too.
const tested = await runSteps([{ name: "tests", command: `node scripts/test.ts${isBuilt ? " --built" : ""}` }]);
printResults([...checked, ...tested]);

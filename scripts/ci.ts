// Runs everything that must pass before a change lands. Prints one line per step at the end, and
// exits with an error if one failed. No step measures time, because a result must not depend on the
// machine.

import { runSteps } from "./steps.ts";

await runSteps([
  { name: "check", command: "npm run --silent check" },
  { name: "test", command: "npm test --silent" },
]);

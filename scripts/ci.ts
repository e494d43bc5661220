// Runs everything that has to pass before a change lands: a line per step at the end, and a failing
// exit code if one of them failed. No step measures time: a result must not depend on the machine.

import { runSteps } from "./steps.ts";

await runSteps([
  { name: "check", command: "npm run --silent check" },
  { name: "test", command: "npm test --silent" },
]);

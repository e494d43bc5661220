// The whole gate in one command: a line per step at the end, and a failing exit code if one of them failed.

import { runSteps } from "./steps.ts";

runSteps([
  { name: "check", command: "npm run --silent check" },
  { name: "test", command: "npm test --silent" },
  { name: "bench:quick", command: "npm run --silent bench:quick" },
]);

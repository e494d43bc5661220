// The whole gate in one command: a line per step at the end, and a failing exit code if one of them failed.

import { runSteps } from "./steps.ts";

runSteps([
  { name: "check", commands: ["npm run check"] },
  { name: "test", commands: ["npm test"] },
  { name: "bench:quick", commands: ["npm run bench:quick"] },
]);

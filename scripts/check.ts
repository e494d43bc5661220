// Everything that is held without running the product: format and lint with no warning left, types (also of the
// portable part, with browser types alone), the rules between the rooms, the size limits, the packages as they
// would be published, and code that nothing uses.

import { runSteps } from "./steps.ts";

runSteps([
  { name: "format and lint", commands: ["biome check --error-on-warnings ."] },
  { name: "types", commands: ["tsc", "tsc -p packages/batchwise/tsconfig.portable.json"] },
  {
    name: "layers and sizes",
    commands: ["vitest run packages/batchwise/test/house/layers packages/batchwise/test/house/sizes"],
  },
  {
    name: "packages",
    commands: [
      "node scripts/build.ts",
      "publint --strict packages/batchwise",
      "publint --strict packages/server",
      "attw --pack packages/batchwise --profile esm-only --format ascii",
    ],
  },
  { name: "unused code", commands: ["knip"] },
]);

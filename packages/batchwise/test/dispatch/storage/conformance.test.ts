// The published storage suite, over the official S3 and Cloud Storage clients.

import { storageConformance } from "batchwise/dispatch/testing";
import { describe, test } from "vitest";
import { openGcs, openS3 } from "./storage-cases.ts";

describe.each([
  ["S3", openS3],
  ["Cloud Storage", openGcs],
] as const)("storage in %s", (_name, open) => {
  for (const { name, run } of storageConformance) test(name, () => run((options) => open(options)));
});

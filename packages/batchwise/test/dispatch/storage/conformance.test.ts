// The published storage suite, over the official clients of S3 and Cloud Storage.

import { type FakeStorageOptions, type StorageRig, storageConformance } from "batchwise/dispatch/testing";
import { Storage as Storage8 } from "gcs-8";
import { describe, test } from "vitest";
import { openGcs, openGcsBy, openS3 } from "./storage-cases.ts";

function openGcs8(options: FakeStorageOptions): Promise<StorageRig> {
  const config = { projectId: "project", retryOptions: { autoRetry: false } };
  return openGcsBy((apiEndpoint) => new Storage8({ apiEndpoint, ...config }), options);
}

describe.each([
  ["S3", openS3],
  ["Cloud Storage", openGcs],
  ["Cloud Storage, by @google-cloud/storage 8", openGcs8],
] as const)("storage in %s", (_name, open) => {
  for (const { name, run } of storageConformance) test(name, () => run((options) => open(options)));
});

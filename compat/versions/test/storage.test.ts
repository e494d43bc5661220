// The published storage suite, over another release of the official client of Cloud Storage.

import { storageConformance } from "batchwise/dispatch/testing";
import { Storage } from "gcs-8";
import { describe, test } from "vitest";
import { openGcsBy } from "../../../packages/batchwise/test/dispatch/storage/storage-cases.ts";

const config = { projectId: "project", retryOptions: { autoRetry: false } };

describe("storage in Cloud Storage, by @google-cloud/storage 8", () => {
  for (const { name, run } of storageConformance) {
    test(name, () => run((options) => openGcsBy((apiEndpoint) => new Storage({ apiEndpoint, ...config }), options)));
  }
});

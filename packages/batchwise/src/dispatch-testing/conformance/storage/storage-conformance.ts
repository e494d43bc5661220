// The suite that every object storage must pass, with the real client of its service on a strict
// fake.

import type { StorageCase } from "./case.ts";
import { faultCases } from "./faults.ts";
import { objectCases } from "./objects.ts";

export type { StorageCase, StorageFactory, StorageRig } from "./case.ts";

/**
 * The cases that every ObjectStorage must pass. Each opens a fake and a storage of its own.
 *
 * @example
 * ```ts
 * import { type GcsClient, gcsStorage } from "batchwise/dispatch/storage";
 * import { fakeGcs, type StorageFactory, storageConformance } from "batchwise/dispatch/testing";
 * declare function clientAt(url: string): GcsClient; // new Storage({ apiEndpoint: url, projectId: "any", … })
 * const open: StorageFactory = async (options) => {
 *   const fake = fakeGcs(options);
 *   const { url } = await fake.listen();
 *   return { fake, storage: gcsStorage({ client: clientAt(url), bucket: "bucket", prefix: "folder" }) };
 * };
 * for (const { name, run } of storageConformance) {
 *   await run(open).catch((cause) => Promise.reject(new Error(name, { cause })));
 * }
 * ```
 */
export const storageConformance: readonly StorageCase[] = [...objectCases, ...faultCases];

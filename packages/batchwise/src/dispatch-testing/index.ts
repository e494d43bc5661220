// The entry "batchwise/dispatch/testing": names only.

export {
  type AccountCase,
  type AccountFactory,
  type AccountFake,
  type AccountRig,
  accountConformance,
} from "./conformance/account/account-conformance.ts";
export {
  type RunnerAnswer,
  type RunnerAsked,
  type RunnerCase,
  type RunnerFactory,
  type RunnerOptions,
  type RunnerRig,
  runnerConformance,
} from "./conformance/runner/runner-conformance.ts";
export {
  type StorageCase,
  type StorageFactory,
  type StorageRig,
  storageConformance,
} from "./conformance/storage/storage-conformance.ts";
export { type StoreCase, type StoreFactory, storeConformance } from "./conformance/store/store-conformance.ts";
export type { FakeEditedReply, FakeFault, FakeOperation, FakeReplyFault, FakeShortReply } from "./fake/fault-types.ts";
export { type FakeFaultName, fakeFaults } from "./fake/presets.ts";
export { type FakeProvider, fakeProvider } from "./fake/provider.ts";
export { fakeGcs } from "./fake/storage/gcs.ts";
export { fakeS3 } from "./fake/storage/s3.ts";
export type { FakeStorage, FakeStorageOptions } from "./fake/storage/shelf.ts";
export type { Fetch, Listening } from "./fake/transport.ts";
export type {
  FakeAnswer,
  FakeBatchFacts,
  FakeBatchView,
  FakeDialect,
  FakeExecution,
  FakeLimits,
  FakeLine,
  FakeLineFault,
  FakeObjects,
  FakeOptions,
  FakeOwnSurface,
  FakePlan,
  FakeSurface,
  ForeignBatch,
} from "./fake/types.ts";

// The public API of "batchwise/threads": names only. Node.js, or a runtime with its
// `node:worker_threads`.

export { connectBatcher } from "./connect-batcher.ts";
export type {
  ConnectedBatcher,
  ConnectedManyOptions,
  ConnectedManySyncOptions,
  ConnectedSubmitOptions,
  ConnectedSyncOptions,
} from "./connect-options.ts";
export type { ThreadsErrorCode } from "./errors.ts";
export { shareBatcher } from "./share-batcher.ts";
export type { ShareableBatcher, SharedBatcher, ShareOptions } from "./share-options.ts";
export { type ThreadHandler, type ThreadHandlerOptions, threadHandler } from "./thread-handler.ts";

// The async context of the moment, where the runtime has one: what runs in it sees the AsyncLocalStorage stores that were
// set when it was captured, and keeps no others alive.

import type { InContext } from "./clock.ts";

interface AsyncResource {
  runInAsyncScope: InContext;
}

interface Runtime {
  readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
}

type Hooks = { readonly AsyncResource?: new (type: string) => AsyncResource } | undefined;

const Resource = ((globalThis as Runtime).process?.getBuiltinModule?.("node:async_hooks") as Hooks)?.AsyncResource;

/** Captures the async context of the moment. Where a runtime has none, calling in it is a plain call. */
export function captureAsyncContext(): InContext {
  if (Resource === undefined) return (callback) => callback();
  const resource = new Resource("batchwise");
  return (callback) => resource.runInAsyncScope(callback);
}

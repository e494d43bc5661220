// The current async context, if the runtime has one. Code that runs in it sees the
// AsyncLocalStorage stores that were set when it was captured; it keeps no others alive.

import type { InContext } from "./clock.ts";

interface AsyncResource {
  runInAsyncScope: InContext;
}

interface Runtime {
  readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
}

interface Storage {
  run<Answer>(value: object, callback: () => Answer): Answer;
  getStore(): object | undefined;
}

interface Hooks {
  readonly AsyncResource?: new (type: string) => AsyncResource;
  readonly AsyncLocalStorage?: new () => Storage;
}

const hooks = (globalThis as Runtime).process?.getBuiltinModule?.("node:async_hooks") as Hooks | undefined;
const Resource = hooks?.AsyncResource;

/** Captures the current async context. Without one in the runtime, a call in it is a plain call. */
export function captureAsyncContext(): InContext {
  if (Resource === undefined) return (callback) => callback();
  const resource = new Resource("batchwise");
  return resource.runInAsyncScope.bind(resource) as InContext;
}

/**
 * A storage whose value is visible in a callback, also after an `await`. Null if the runtime has
 * none, or only one that slows down every promise of the process: Node.js before 24, whose storage
 * is enabled by a method `_enable`.
 */
export function cheapStorage(): Storage | null {
  const Local = hooks?.AsyncLocalStorage;
  return Local === undefined || "_enable" in Local.prototype ? null : new Local();
}

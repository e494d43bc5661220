// The async context of the moment, where the runtime has one: what runs in it sees the
// AsyncLocalStorage stores that were set when it was captured, and keeps no others alive.

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

/**
 * Captures the async context of the moment. Where a runtime has none, calling in it is a plain
 * call.
 */
export function captureAsyncContext(): InContext {
  if (Resource === undefined) return (callback) => callback();
  const resource = new Resource("batchwise");
  return (callback) => resource.runInAsyncScope(callback);
}

/**
 * A value that what runs in a callback sees, also after an `await`. Null where the runtime has
 * none, or where one would slow down every promise of the process: Node.js before 24, whose storage
 * is enabled by a method `_enable`.
 */
export function cheapStorage(): Storage | null {
  const Local = hooks?.AsyncLocalStorage;
  return Local === undefined || "_enable" in Local.prototype ? null : new Local();
}

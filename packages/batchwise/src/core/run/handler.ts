// The user's handler, in whichever form it came, as one set of stages; and the async context in which it runs: that
// of the batcher's construction, never that of the caller who happened to complete a batch.

import { describe } from "../contract/errors.ts";
import type { BatchContext } from "../contract/types.ts";
import { invalidOption } from "../contract/validate.ts";

/** A handler's parts. What a part takes and returns is the user's affair; places are checked when they are dealt out. */
export interface Stages {
  readonly prepareItem: ((item: unknown) => unknown) | undefined;
  readonly prepare: ((items: unknown[], context: BatchContext) => unknown) | undefined;
  readonly run: (input: unknown, context: BatchContext) => unknown;
  readonly finish: ((output: unknown, context: BatchContext) => unknown) | undefined;
  readonly open: (() => unknown) | undefined;
  readonly close: (() => unknown) | undefined;
}

const OPTIONAL_STAGES = ["prepareItem", "prepare", "finish", "open", "close"] as const;

type Method = (...args: unknown[]) => unknown;

export function resolveHandler(handler: unknown): Stages {
  if (typeof handler === "function") return { ...noStages, run: handler as Stages["run"] };
  const methods = handler as (Readonly<Record<string, unknown>> & { readonly run?: unknown }) | null;
  if (typeof methods !== "object" || methods === null || typeof methods.run !== "function") {
    const message = `Expected \`handler\` to be a function or an object with a \`run\` method, got ${describe(handler)}`;
    throw invalidOption(TypeError, message);
  }
  const stages: Partial<Record<(typeof OPTIONAL_STAGES)[number], Method>> = {};
  for (const name of OPTIONAL_STAGES) {
    if (methods[name] === undefined) continue;
    if (typeof methods[name] !== "function") {
      throw invalidOption(TypeError, `Expected \`handler.${name}\` to be a function, got ${describe(methods[name])}`);
    }
    stages[name] = bound(methods, name);
  }
  return { ...noStages, ...stages, run: bound(methods, "run") };
}

const noStages: Omit<Stages, "run"> = {
  prepareItem: undefined,
  prepare: undefined,
  finish: undefined,
  open: undefined,
  close: undefined,
};

function bound(methods: Readonly<Record<string, unknown>>, name: string): Method {
  const method = methods[name] as Method;
  return (...args) => method.apply(methods, args);
}

/** Calls a function with up to two arguments in a fixed async context. */
export type InContext = (callback: (a: never, b: never) => unknown, a?: unknown, b?: unknown) => unknown;

/** A place in the async context; calling in it is an eighth of the price of `AsyncLocalStorage.snapshot()`. */
interface AsyncResource {
  runInAsyncScope(callback: unknown, thisArgument: undefined, a: unknown, b: unknown): unknown;
}

interface AsyncHooks {
  readonly AsyncResource?: new (type: string) => AsyncResource;
}

interface Runtime {
  readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
}

/** The async context of the moment. Where a runtime has none, calling in it is a plain call. */
export function captureAsyncContext(): InContext {
  const process = (globalThis as Runtime).process;
  const hooks = process?.getBuiltinModule?.("node:async_hooks") as AsyncHooks | undefined;
  if (hooks?.AsyncResource !== undefined) {
    const resource = new hooks.AsyncResource("batchwise");
    return (callback, a, b) => resource.runInAsyncScope(callback, undefined, a, b);
  }
  return (callback, a, b) => callback(a as never, b as never);
}

// The user's handler, in whichever form it came, as one set of stages.

import { describe } from "../contract/errors.ts";
import type { BatchContext } from "../contract/types.ts";
import { invalidOption } from "../contract/validate.ts";

/** A handler's parts. What they take and return is checked where it is used. */
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
  if (typeof handler === "function") {
    refuseGenerator(handler);
    return { ...noStages, run: handler as Stages["run"] };
  }
  const methods = handler as (Readonly<Record<string, unknown>> & { readonly run?: unknown }) | null;
  if (typeof methods !== "object" || methods === null || typeof methods.run !== "function") {
    const message = `Expected \`handler\` to be a function or an object with a \`run\` method, got ${describe(handler)}`;
    throw invalidOption(TypeError, message);
  }
  refuseGenerator(methods.run);
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

/** A generator answers round by round, which a batch of single results cannot use. */
function refuseGenerator(handler: object): void {
  const kind = Object.prototype.toString.call(handler);
  if (kind !== "[object AsyncGeneratorFunction]" && kind !== "[object GeneratorFunction]") return;
  const message =
    "Expected `handler` to return an array of results, got a generator function: use `batchStream` for streams";
  throw invalidOption(TypeError, message);
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

// The user's handler, in any of its forms, as one set of stages.

import type { BatchContext } from "./types.ts";
import { aFunction, check, expected, invalidOption, type Rule } from "./validate.ts";

/** A handler's stages. Their arguments and results are checked by the callers. */
export interface Stages {
  readonly prepareItem?: (item: unknown) => unknown;
  readonly prepare?: (items: unknown[], context: BatchContext) => unknown;
  readonly run: (input: unknown, context: BatchContext) => unknown;
  readonly finish?: (output: unknown, context: BatchContext) => unknown;
  readonly open?: () => unknown;
  readonly close?: () => unknown;
}

const STAGES: readonly (keyof Stages)[] = ["prepareItem", "prepare", "run", "finish", "open", "close"];

type Method = (...args: unknown[]) => unknown;

const aHandler: Rule = { ...aFunction, expected: "a function or an object with a `run` method" };

/** `options`: only for the hint that they and the handler are in the wrong order. */
export function resolveHandler(handler: unknown, options?: unknown): Stages {
  if (typeof handler === "function") {
    refuseGenerator(handler);
    return { run: handler as Method };
  }
  const methods = handler as Readonly<Record<string, unknown>> | null;
  const run = typeof methods === "object" ? methods?.run : undefined;
  if (methods === null || typeof run !== "function") throw noHandler(aHandler, handler, options);
  refuseGenerator(run);
  const stages: { -readonly [Name in keyof Stages]: Method } = { run: run as Method };
  for (const name of STAGES) {
    const method = methods[name];
    if (method === undefined) continue;
    check(`handler.${name}`, aFunction, method);
    stages[name] = (...args) => Reflect.apply(method as Method, methods, args);
  }
  return stages;
}

/** The error for a value that is no handler. */
export function noHandler(rule: Rule, handler: unknown, options: unknown): Error {
  const error = expected("handler", rule, handler);
  if (typeof options === "function") error.message += ": the handler is the first argument";
  return error;
}

/** Throws for a generator, which answers in rounds that a batch of single results cannot use. */
function refuseGenerator(handler: object): void {
  const kind = Object.prototype.toString.call(handler);
  if (kind !== "[object AsyncGeneratorFunction]" && kind !== "[object GeneratorFunction]") return;
  const way = "use `batchStream` for streams";
  throw invalidOption(
    TypeError,
    `Expected \`handler\` to return an array of results, got a generator function: ${way}`,
  );
}

// A method decorator, standard (TC39) and legacy (`experimentalDecorators`). It decorates a method
// that takes an array and returns a promise of an array, and merges the calls of all callers into
// batches, per instance. Standard: the batcher of an instance is made when the instance is
// constructed; legacy: at the first call. Options are checked when the class is defined.

import { bindOnce } from "../core/contract/bind-methods.ts";
import type { BatchOptions } from "../core/contract/options.ts";
import { PreparedOptions } from "../core/contract/resolve-options.ts";
import type { BatchContext, BatchedCall, Batcher, Places, SubmitOptions } from "../core/contract/types.ts";
import { BY_INDEX_OF_METHOD, checkIsObject, invalidOption } from "../core/contract/validate.ts";
import { BatcherCore, HOT } from "../core/engine/batcher.ts";
import { extensions } from "../makers/extensions.ts";
import { keepMetadata } from "./keep-metadata.ts";
import { type DecoratedMethod, ObjectBatchers } from "./object-batchers.ts";

type BatchedParameters<Item> = readonly [items: readonly Item[], call?: BatchedCall | undefined];
type Method<This, Args extends readonly unknown[], Return> = (this: This, ...args: Args) => Return;
type Descriptor<Args extends readonly unknown[], Return> = TypedPropertyDescriptor<(...args: Args) => Return>;

type AnyFunction = (...args: unknown[]) => unknown;

/**
 * Decorates a method without changing its type. The first form is the standard one, the second the
 * legacy one.
 */
export interface BatchedDecorator<Item, Result> {
  <This extends object, Args extends BatchedParameters<Item>, Return extends Promise<readonly Result[]>>(
    method: Method<This, Args, Return>,
    context: ClassMethodDecoratorContext<This, Method<This, Args, Return>>,
  ): Method<This, Args, Return>;
  <Args extends BatchedParameters<Item>, Return extends Promise<readonly Result[]>>(
    prototype: object,
    name: string | symbol,
    descriptor: Descriptor<Args, Return>,
  ): Descriptor<Args, Return>;
}

/**
 * A type that excludes functions. A function has a `name`, as options may, so the method below a
 * bare `@batched` would pass as options.
 */
interface NotAFunction {
  readonly bind?: never;
}

/**
 * Decorates a method that takes an array and returns a promise of an array, one result per item.
 * Calls of all callers are merged into batches, per instance, and each call gets its own part back.
 * `@batched` without arguments uses the defaults.
 *
 * The method receives the batch's {@link BatchContext} as second parameter. The second argument of
 * a call is its {@link SubmitOptions}, which apply only to its items; a method whose callers pass
 * one declares a {@link BatchedCall}. {@link batcherOf} returns the batcher behind the method.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`, when the class is defined: for an
 * option that is unknown or out of range, and for anything that is not a method.
 *
 * @example
 * ```ts
 * import { type BatchedCall, batched } from "batchwise";
 * class Encoder {
 *   @batched({ maxBatchSize: 64 })
 *   async encode(texts: string[], call?: BatchedCall): Promise<number[]> {
 *     return texts.map((text) => (call?.signal?.aborted ? 0 : text.length));
 *   }
 * }
 * const encoder = new Encoder();
 * const [[a], [b, c]] = await Promise.all([
 *   encoder.encode(["x"]),
 *   encoder.encode(["yy", "zzz"], { priority: 1, timeoutMs: 1_000 }),
 * ]); // one call of the method
 * ```
 */
export const batched: (<Item, Result>(
  options?: BatchOptions<Item, Result> & NotAFunction,
) => BatchedDecorator<Item, Result>) &
  BatchedDecorator<unknown, unknown> = (...args: readonly unknown[]): never => {
  const isBare = args.length > 1 || typeof args[0] === "function";
  if (isBare) return decorate(args, PreparedOptions.of(undefined)) as never;
  // Errors are thrown when the class is defined; later changes of the object have no effect.
  const options = PreparedOptions.of(args[0]);
  return ((...decorated: readonly unknown[]) => decorate(decorated, options)) as never;
};

/**
 * Compilers call a standard decorator with two arguments and a legacy one with three; for a class
 * it is one or two.
 */
function decorate(args: readonly unknown[], options: PreparedOptions): unknown {
  const [first, second, third] = args;
  if (args.length === 3) return decorateLegacy(first, second, third, options);
  const context = second as Partial<ClassMethodDecoratorContext<object>> | undefined;
  if (context?.kind === "method")
    return decorateStandard(first, context as ClassMethodDecoratorContext<object>, options);
  throw notAMethod(context?.kind ?? (typeof first === "function" ? "class or function" : typeof first));
}

function decorateStandard(
  given: unknown,
  context: ClassMethodDecoratorContext<object>,
  options: PreparedOptions,
): AnyFunction {
  const method = decoratedMethod(given, context.name, options);
  context.addInitializer(function (this: object): void {
    ObjectBatchers.add(this, method).get(method);
  });
  return merged(method, given as object);
}

/**
 * There is no hook at construction, so the method is put on the prototype or class, and a call
 * makes the batcher.
 */
function decorateLegacy(target: unknown, name: unknown, given: unknown, options: PreparedOptions): PropertyDescriptor {
  if (typeof given === "number") throw notAMethod("parameter");
  const descriptor = given as PropertyDescriptor | undefined;
  if (descriptor?.get !== undefined || descriptor?.set !== undefined) throw notAMethod("getter or setter");
  if (typeof descriptor?.value !== "function") throw notAMethod("field");
  const method = decoratedMethod(descriptor.value, typeof name === "symbol" ? name : String(name), options);
  ObjectBatchers.add(target as object, method);
  return { ...descriptor, value: merged(method, descriptor.value as object) };
}

function decoratedMethod(given: unknown, name: string | symbol, options: PreparedOptions): DecoratedMethod {
  if (typeof given !== "function") throw notAMethod(typeof given);
  if (/Generator/.test(Object.prototype.toString.call(given))) {
    const way = "a streaming method is a field with `batchStream(...)`";
    throw invalidOption(TypeError, `Expected \`${String(name)}\` to return a promise of an array: ${way}`);
  }
  if (given.length > 2) {
    const message = `Expected \`${String(name)}\` to have the parameters \`items\` and \`call\` alone, got ${given.length}`;
    throw invalidOption(TypeError, message);
  }
  const shown = shownName(name);
  let prepared = options;
  return {
    name,
    // The only place that makes the batcher of an instance.
    makeBatcher(owner: object): Batcher<unknown, unknown> {
      const handler = (items: unknown[], context: BatchContext): Promise<Places<unknown>> =>
        Reflect.apply(given, owner, [items, context]) as Promise<Places<unknown>>;
      const label = labelOf(owner, shown);
      // All instances of a class have the same name.
      if (options.given.name === undefined && prepared.options.name !== label)
        prepared = PreparedOptions.of(options.given, label);
      return bindOnce(new BatcherCore(handler, prepared, extensions), HOT);
    },
  };
}

/** `Class.method`: the name of a method's batcher if its options give none. */
function labelOf(owner: object, method: string): string {
  const { name }: { readonly name?: unknown } = typeof owner === "function" ? owner : (owner.constructor ?? {});
  return typeof name === "string" && name !== "" ? `${name}.${method}` : method;
}

function shownName(name: string | symbol): string {
  return typeof name === "symbol" ? `[${name.description ?? ""}]` : name;
}

/**
 * The function that replaces the method `given`. Never throws: errors of a call reject its promise.
 */
function merged(method: DecoratedMethod, given: object): AnyFunction {
  const name = shownName(method.name);
  const call = function (this: unknown, ...args: unknown[]): Promise<unknown[]> {
    try {
      const batcher = ObjectBatchers.of(this)?.get(method);
      if (batcher === undefined) {
        throw invalidOption(TypeError, `\`${name}\` was called on an object it does not belong to`);
      }
      const options = args[1];
      checkIsObject("options", options, BY_INDEX_OF_METHOD);
      if (args.slice(2).some((argument) => argument !== undefined)) {
        throw invalidOption(TypeError, `\`${name}\` takes \`items\` and submit options, got ${args.length} arguments`);
      }
      return batcher.submitMany(args[0] as unknown[], isContext(options) ? optionsOf(options) : options);
    } catch (error) {
      return Promise.reject(error);
    }
  };
  keepMetadata(given, call);
  return Object.defineProperty(call, "name", { value: name });
}

function isContext(options: object | undefined): options is BatchContext {
  return options !== undefined && "requests" in options && "signal" in options;
}

/**
 * An override has passed on the context of its batch. Its cost is that of all items, so it is not
 * an option of each of them.
 */
function optionsOf({ signal, key }: BatchContext): SubmitOptions {
  return { signal, key };
}

function notAMethod(kind: string): Error {
  const ways = "for one item a call, put `batch(...)` in a field";
  return invalidOption(TypeError, `Expected \`batched\` to decorate a method, got \`${kind}\`; ${ways}`);
}

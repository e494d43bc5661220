// Reads an item: its input, and its own options and labels. Calls may share a batch if these are
// equal, that is, if `pipelineKey` returns the same string. Works after structured clone, so items
// may come from other threads.

import { describe } from "../../core/contract/errors.ts";
import { invalidOption } from "../../core/contract/validate.ts";
import type { CallOptions } from "./types.ts";

/** The parts of an item, unchecked. */
export interface CallParts {
  readonly input: unknown;
  readonly context: unknown;
  readonly labels: unknown;
  readonly options: unknown;
}

/**
 * The key of an item by its options and labels: calls with different options are in different
 * batches. Pass it to the batcher as `key` if callers give options. The order of names does not
 * matter, and `undefined` counts as absent.
 *
 * @returns "" for a text without options.
 * @throws TypeError with `code: "INVALID_OPTION"`, to that caller only, if JSON cannot hold an
 * option (a function, an object of a class): put such options into the handler's `callOptions`.
 *
 * @example
 * ```ts
 * import { pipelineKey } from "batchwise/onnx";
 * pipelineKey("a text"); // ""
 * pipelineKey({ input: "a text", options: { top_k: 3 } }); // 'options {"top_k":3}'
 * ```
 */
export function pipelineKey(item: unknown): string {
  const { input, labels, options } = partsOf(item);
  const parts: string[] = [];
  // A pipeline takes strings or conversations, but not both in one call.
  if (Array.isArray(input)) parts.push("chat");
  if (labels !== undefined) parts.push(`labels ${encode("labels", labels)}`);
  if (options !== undefined) {
    const text = encode("options", options);
    if (text !== "{}") parts.push(`options ${text}`);
  }
  return parts.join(" ");
}

/**
 * A record with `input`, or with `question` and `context`, is a call; any other value is the input
 * itself.
 */
export function partsOf(item: unknown): CallParts {
  if (!isRecord(item)) return { input: item, context: undefined, labels: undefined, options: undefined };
  const { labels, options } = item;
  if (Object.hasOwn(item, "question")) return { input: item.question, context: item.context, labels, options };
  if (Object.hasOwn(item, "input")) return { input: item.input, context: undefined, labels, options };
  return { input: item, context: undefined, labels: undefined, options: undefined };
}

/** The handler's options, overridden by the item's. */
export function mergedOptions(defaults: CallOptions, own: unknown): CallOptions {
  if (own === undefined) return defaults;
  const given = Object.entries(own as CallOptions).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) };
}

/** JSON with sorted names. Throws for values that JSON would lose. */
function encode(name: string, value: unknown): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return `[${value.map((part, index) => encode(`${name}[${index}]`, part)).join(",")}]`;
  if (!isRecord(value)) {
    const expected = `Expected \`${name}\` of a call to be what JSON can hold`;
    throw invalidOption(TypeError, `${expected}, got ${describe(value)}: give it to the handler, in \`callOptions\``);
  }
  const names = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${names
    .sort()
    .map((key) => `${JSON.stringify(key)}:${encode(`${name}.${key}`, value[key])}`)
    .join(",")}}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object from another realm has another Object.prototype, whose own prototype is null too.
  return prototype === null || (!Array.isArray(value) && Object.getPrototypeOf(prototype) === null);
}

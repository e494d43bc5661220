// The label `error.type` of OpenTelemetry: a short name of an error. Each value creates series that
// last as long as the process, so one meter has few values: all codes of this package, and the
// first few others.

import { BatchwiseError } from "../core/contract/errors.ts";

/** Stands for all further values. */
const OTHER = "_OTHER";

/**
 * The error's code if it has one, else its name; "_OTHER" for a value that is not an error. For
 * spans, which have no limit on values.
 */
export function errorType(error: unknown): string {
  const { code, name } = partsOf(error);
  return code ?? name ?? OTHER;
}

/** The values of `error.type` in the series of one meter. */
export class ErrorTypes {
  readonly #codes: FirstValues = new FirstValues(20);
  readonly #names: FirstValues = new FirstValues(20);
  readonly #providerCodes: FirstValues = new FirstValues(100);

  /**
   * As `errorType`, within the limit: a foreign error beyond the limit of codes gets its name;
   * beyond the limit of names, "_OTHER".
   */
  of(error: unknown): string {
    if (error instanceof BatchwiseError) return error.code;
    const { code, name } = partsOf(error);
    if (code !== undefined && this.#codes.keeps(code)) return code;
    return name !== undefined && this.#names.keeps(name) ? name : OTHER;
  }

  /** The code of a provider's error; "_OTHER" beyond the limit. */
  ofProvider(code: string): string {
    return this.#providerCodes.keeps(code) ? code : OTHER;
  }
}

/** Keeps the first `most` different values. */
class FirstValues {
  readonly #most: number;
  readonly #kept: Set<string> = new Set();

  constructor(most: number) {
    this.#most = most;
  }

  keeps(value: string): boolean {
    if (this.#kept.size < this.#most) this.#kept.add(value);
    return this.#kept.has(value);
  }
}

/** Code and name, if they are non-empty strings that can be read. */
function partsOf(error: unknown): { readonly code: string | undefined; readonly name: string | undefined } {
  try {
    const { code, name } = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
    return { code: textOf(code), name: textOf(name) };
  } catch {
    return { code: undefined, name: undefined };
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

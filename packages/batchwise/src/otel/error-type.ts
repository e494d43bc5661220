// The label `error.type` of OpenTelemetry: a short name of what went wrong. Each value makes series
// that last as long as the process, so those of one meter are few: all codes of this package, and
// of others the first that come.

import { BatchwiseError } from "../core/contract/errors.ts";

/** What stands for all that come later. */
const OTHER = "_OTHER";

/**
 * The error's code where it has one, else its name; "_OTHER" for what is no error. For spans: there
 * is no limit.
 */
export function errorType(error: unknown): string {
  const { code, name } = partsOf(error);
  return code ?? name ?? OTHER;
}

/** The types of errors in the series of one meter. */
export class ErrorTypes {
  readonly #codes: FirstValues = new FirstValues(20);
  readonly #names: FirstValues = new FirstValues(20);
  readonly #providerCodes: FirstValues = new FirstValues(100);

  /**
   * As `errorType`: a foreign error whose code is one too many has its name, and "_OTHER" where
   * that is too.
   */
  of(error: unknown): string {
    if (error instanceof BatchwiseError) return error.code;
    const { code, name } = partsOf(error);
    if (code !== undefined && this.#codes.keeps(code)) return code;
    return name !== undefined && this.#names.keeps(name) ? name : OTHER;
  }

  /** The code of what went wrong at a provider; "_OTHER" for one too many. */
  ofProvider(code: string): string {
    return this.#providerCodes.keeps(code) ? code : OTHER;
  }
}

/** The first so many different values. */
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

/** Code and name, where they are texts and not empty. */
function partsOf(error: unknown): { readonly code: string | undefined; readonly name: string | undefined } {
  const { code, name } = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  return { code: textOf(code), name: textOf(name) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

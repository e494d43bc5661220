// Warnings without a listener. Each one waits 1 s for a listener and is then printed by
// `process.emitWarning`, or `console.warn` without a process. Each code is printed once per
// process.
//
// The wait uses a platform timer that keeps no process alive. A process that ends sooner prints
// first, unless it calls `process.exit()`. The timer exists only while a warning waits.

import { beforeExit } from "../time/before-exit.ts";

/** Time in which a listener may be added, in ms. */
const WAIT_MS = 1000;

interface Platform {
  readonly process?: {
    emitWarning?(message: string, options: { type: string; code: string; detail: string }): void;
  };
}

const PRINTED: unique symbol = Symbol.for("batchwise.printed");

/** The codes that this process has printed, over all copies of the package. */
function printedCodes(): Set<string> {
  const shared = globalThis as { [PRINTED]?: Set<string> };
  shared[PRINTED] ??= new Set();
  return shared[PRINTED];
}

/** The warnings of one batcher or dispatcher. */
export class UnheardWarnings {
  readonly #isHeard: () => boolean;
  readonly #detail: string;
  /** The waiting codes. */
  readonly #waiting: Set<string> = new Set();

  /**
   * `isHeard`: whether there is a listener. `detail`: printed below the message; says how to
   * listen.
   */
  constructor(isHeard: () => boolean, detail: string) {
    this.#isHeard = isHeard;
    this.#detail = detail;
  }

  /** Prints a warning unless a listener is added in time. */
  add(code: string, message: string): void {
    if (this.#waiting.has(code) || printedCodes().has(code)) return;
    this.#waiting.add(code);
    const ended = (): void => {
      clearTimeout(timer as never);
      stopListening();
      this.#waiting.delete(code);
      if (!this.#isHeard()) print(code, message, this.#detail);
    };
    const timer: unknown = setTimeout(ended, WAIT_MS);
    const stopListening = beforeExit(ended);
    (timer as { unref?(): void }).unref?.();
  }
}

function print(code: string, message: string, detail: string): void {
  const printed = printedCodes();
  if (printed.has(code)) return;
  printed.add(code);
  const { process } = globalThis as Platform;
  if (process?.emitWarning === undefined) console.warn(`[${code}] ${message}\n${detail}`);
  else process.emitWarning(message, { type: "BatchwiseWarning", code, detail });
}

// Warnings that have no listener. Each one waits 1 s for a listener; without one it is printed by
// `process.emitWarning`, or by `console.warn` where there is no process. Each code is printed once
// a process.
//
// The wait has a timer of the platform. It keeps no process alive: a process that ends sooner
// prints first, unless it calls `process.exit()`. There is a timer only while a warning waits.

import { beforeExit } from "../time/before-exit.ts";

/** How long a warning waits for a listener. */
const WAIT_MS = 1000;

interface Platform {
  readonly process?: {
    emitWarning?(message: string, options: { type: string; code: string; detail: string }): void;
  };
}

const PRINTED: unique symbol = Symbol.for("batchwise.printed");

/** The codes that this process has printed, in every copy of the package. */
function printedCodes(): Set<string> {
  const shared = globalThis as { [PRINTED]?: Set<string> };
  shared[PRINTED] ??= new Set();
  return shared[PRINTED];
}

/** The warnings of one batcher or dispatcher. */
export class UnheardWarnings {
  readonly #isHeard: () => boolean;
  readonly #detail: string;
  /** The codes that wait. */
  readonly #waiting: Set<string> = new Set();

  /**
   * `isHeard`: there is a listener now. `detail`: printed below the message, says how to listen.
   */
  constructor(isHeard: () => boolean, detail: string) {
    this.#isHeard = isHeard;
    this.#detail = detail;
  }

  /** Prints a warning unless a listener comes in time. */
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

// Runs lines concurrently and yields each result when it is ready. Takes a line from its source
// only when a place is free, so that waiting lines stay in the store. If a line rejects, no other
// starts; the error is thrown once the running ones have ended.

import type { ResultLine } from "../../contract/account.ts";
import type { Places } from "./places.ts";

export async function* runLines(
  lines: AsyncIterable<string>,
  places: Places,
  run: (line: string) => Promise<ResultLine>,
  signal: AbortSignal,
): AsyncGenerator<ResultLine> {
  const crew = new Crew(lines, places, run, signal);
  try {
    for (let next = await crew.next(); next !== null; next = await crew.next()) yield next;
  } finally {
    crew.stop();
  }
}

class Crew {
  readonly #source: AsyncIterator<string>;
  readonly #places: Places;
  readonly #run: (line: string) => Promise<ResultLine>;
  readonly #signal: AbortSignal;
  readonly #ended: ResultLine[] = [];
  #running = 0;
  #isFeeding = true;
  #failure: { readonly reason: unknown } | null = null;
  #wake: () => void = () => {};

  constructor(
    lines: AsyncIterable<string>,
    places: Places,
    run: (line: string) => Promise<ResultLine>,
    signal: AbortSignal,
  ) {
    this.#source = lines[Symbol.asyncIterator]();
    this.#places = places;
    this.#run = run;
    this.#signal = signal;
    signal.addEventListener("abort", this.#moved, { once: true });
    void this.#feed();
  }

  /**
   * The next result; null after the last. Rejects at once when the signal is aborted, even if lines
   * still run.
   */
  async next(): Promise<ResultLine | null> {
    for (;;) {
      this.#signal.throwIfAborted();
      const line = this.#ended.shift();
      if (line !== undefined) return line;
      if (!this.#isFeeding && this.#running === 0) {
        if (this.#failure !== null) throw this.#failure.reason;
        return null;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  stop(): void {
    this.#failure ??= { reason: new Error("The results are no longer read.") };
    this.#signal.removeEventListener("abort", this.#moved);
  }

  readonly #moved = (): void => this.#wake();

  async #feed(): Promise<void> {
    try {
      while (this.#failure === null) {
        await this.#places.take(this.#signal);
        const line = await this.#nextLine();
        if (line === null) break;
        this.#start(line);
      }
    } catch (reason) {
      this.#failure ??= { reason };
    } finally {
      this.#isFeeding = false;
      this.#wake();
    }
  }

  /** Returns the next line. At the end, frees the place and returns null. */
  async #nextLine(): Promise<string | null> {
    let line: string | null = null;
    try {
      if (this.#failure === null) {
        const next = await this.#source.next();
        line = next.done === true ? null : next.value;
      }
      return line;
    } finally {
      if (line === null) this.#places.give();
    }
  }

  #start(line: string): void {
    this.#running += 1;
    this.#run(line)
      .then(
        (result) => this.#ended.push(result),
        (reason: unknown) => {
          this.#failure ??= { reason };
        },
      )
      .finally(() => {
        this.#running -= 1;
        this.#places.give();
        this.#wake();
      });
  }
}

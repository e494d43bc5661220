// How far the sweep of an account has come, in a mark of the store: where a run ends before the
// sweep does, the next run goes on there. One that the provider refuses is forgotten, so that the
// sweep begins anew.

import { storedMessage } from "../../format/stored-code.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isFromWrongClock } from "../../runtime/wall-clock.ts";

const PREFIX = "place of sweep ";
/** A later sweep begins anew: cursors of lists may not last. */
const KEPT_MS = 6 * 3_600_000;

/**
 * `listed`: `after` is the cursor of the next page. `found`: `after` is the key of the last batch
 * that was asked for. `files`: all batches are done.
 */
type Part = "listed" | "found" | "files";

interface Kept {
  /** When the sweep began. */
  readonly at: number;
  readonly part: Part;
  readonly after: string | null;
}

export class SweepPlace {
  readonly #runtime: Pick<Runtime, "store" | "clock">;
  readonly #name: string;
  readonly #mark: string | null;
  #kept: Kept | null;

  private constructor(runtime: Runtime, name: string, mark: string | null, kept: Kept | null) {
    this.#runtime = runtime;
    this.#name = name;
    this.#mark = mark;
    this.#kept = kept;
  }

  static async read(runtime: Runtime, account: string): Promise<SweepPlace> {
    const name = storedMessage(PREFIX + account);
    const now = runtime.clock.now();
    const marks = await runtime.store.marks([], now);
    const mark = marks.find((one) => one.name === name)?.value ?? null;
    const kept = mark === null ? null : (JSON.parse(mark) as Kept);
    const isOld = kept !== null && (now - kept.at > KEPT_MS || isFromWrongClock(kept.at, now));
    return new SweepPlace(runtime, name, mark, isOld ? null : kept);
  }

  /** True if the batches are done. */
  get isAtFiles(): boolean {
    return this.#kept?.part === "files";
  }

  /** Where to go on in this part; null from its beginning. */
  after(part: Part): string | null {
    return this.#kept?.part === part ? this.#kept.after : null;
  }

  reach(part: Part, after: string | null): void {
    this.#kept = { at: this.#kept?.at ?? this.#runtime.clock.now(), part, after };
  }

  /** The sweep has ended, or has to begin anew. */
  forget(): void {
    this.#kept = null;
  }

  /** Writes it for the next run. */
  async keep(): Promise<void> {
    const value = this.#kept === null ? null : JSON.stringify(this.#kept);
    if (value === this.#mark) return;
    const { store, clock } = this.#runtime;
    await store.marks([{ name: this.#name, expected: this.#mark, value }], clock.now());
  }
}

/** Text that changes with the places of all accounts. */
export async function sweepPlaces({ store, clock }: Pick<Runtime, "store" | "clock">): Promise<string> {
  const marks = await store.marks([], clock.now());
  return JSON.stringify(marks.filter(({ name }) => name.startsWith(PREFIX)));
}

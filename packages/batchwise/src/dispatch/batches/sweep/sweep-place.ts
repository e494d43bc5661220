// Keeps the position of an account's sweep in a mark of the store: if a run ends before the sweep
// does, the next run continues there. A position that the provider refuses is dropped, and the
// sweep starts again.

import type { MarkChange, MarkRow } from "../../contract/store/ledger-rows.ts";
import { storedMessage } from "../../format/stored-code.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isFromWrongClock } from "../../runtime/wall-clock.ts";

const PREFIX = "place of sweep ";
/** In stores of earlier versions, which is also how an account's turns may be named. */
const FORMER = "sweep place ";
/** A sweep after this time starts again, because list cursors may expire. */
const KEPT_MS = 6 * 3_600_000;

/**
 * `listed`: `after` is the cursor of the next page. `found`: `after` is the key of the last batch
 * that was searched for. `files`: all batches are done.
 */
type Part = "listed" | "found" | "files";

interface Kept {
  /** When the sweep began. */
  readonly at: number;
  readonly part: Part;
  readonly after: string | null;
}

interface Place {
  readonly store: Pick<Runtime["store"], "marks">;
  readonly clock: Pick<Runtime["clock"], "now">;
}

export class SweepPlace {
  readonly #runtime: Place;
  readonly #name: string;
  readonly #mark: string | null;
  /** The mark of an earlier version, to delete. */
  readonly #former: MarkRow | null;
  #kept: Kept | null;

  private constructor(runtime: Place, name: string, marks: readonly MarkRow[], former: MarkRow | null) {
    this.#runtime = runtime;
    this.#name = name;
    this.#mark = marks.find((mark) => mark.name === name)?.value ?? null;
    this.#former = former;
    const kept = this.#mark ?? former?.value ?? null;
    this.#kept = kept === null ? null : (JSON.parse(kept) as Kept);
    const now = runtime.clock.now();
    const { at } = this.#kept ?? { at: now };
    if (now - at > KEPT_MS || isFromWrongClock(at, now)) this.forget();
  }

  static async read(runtime: Place, account: string): Promise<SweepPlace> {
    const { store, clock } = runtime;
    const marks = await store.marks([], clock.now());
    const formerName = storedMessage(FORMER + account);
    const former = marks.find(({ name, value }) => name === formerName && value.startsWith("{")) ?? null;
    return new SweepPlace(runtime, storedMessage(PREFIX + account), marks, former);
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

  /** Call when the sweep has ended or must start again. */
  forget(): void {
    this.#kept = null;
  }

  /** Writes it for the next run. */
  async keep(): Promise<void> {
    const value = this.#kept === null ? null : JSON.stringify(this.#kept);
    const changes: MarkChange[] = [];
    if (value !== this.#mark) changes.push({ name: this.#name, expected: this.#mark, value });
    if (this.#former !== null) changes.push({ name: this.#former.name, expected: this.#former.value, value: null });
    const { store, clock } = this.#runtime;
    if (changes.length > 0) await store.marks(changes, clock.now());
  }
}

/** Text that changes with the places of all accounts. */
export async function sweepPlaces({ store, clock }: Place): Promise<string> {
  const marks = await store.marks([], clock.now());
  return JSON.stringify(marks.filter(({ name }) => name.startsWith(PREFIX)));
}

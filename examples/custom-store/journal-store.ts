// A store of your own in one file: the memory store with a journal on disk. This works because a
// store has no clock and no randomness: the same calls in the same order give the same state. Every
// write is first appended to the journal and flushed, then applied in memory; opening the store
// applies all of them again.
//
// Guarantees the whole contract for one process: an answered call is on the disk. The journal never
// shrinks, and two processes must not share one: for that, use the SQLite or the Postgres store.

import { type FileHandle, open } from "node:fs/promises";
import { deserialize, serialize } from "node:v8";
import { type Batcher, createBatcher } from "batchwise";
import { DispatchError, memoryStore, type Store } from "batchwise/dispatch";

/** The methods that change the state; they are written to the journal. */
type Write =
  | "enqueue"
  | "amend"
  | "seal"
  | "lease"
  | "transition"
  | "settle"
  | "deliveries"
  | "marks"
  | "payers"
  | "prune";
type Answer<Name extends Write> = Awaited<ReturnType<Store[Name]>>;

interface Entry {
  readonly name: Write;
  readonly args: readonly unknown[];
}

export function journalStore(path: string): Store {
  return new JournalStore(path);
}

class JournalStore implements Store {
  readonly #path: string;
  readonly #memory = memoryStore();
  /**
   * Writes that arrive while the disk is busy share the next flush: batchwise's own engine batches
   * them.
   */
  readonly #writes: Batcher<Entry, unknown> = createBatcher((entries: Entry[]) => this.#commit(entries), {
    maxBatchSize: 1_000,
  });
  #opening: Promise<FileHandle> | null = null;
  #closing: Promise<void> | null = null;
  /** Length of all whole entries, in bytes. */
  #length = 0;
  /** True if a crash or a failed write may have left bytes after them. */
  #torn = true;

  constructor(path: string) {
    this.#path = path;
  }

  enqueue(...args: Parameters<Store["enqueue"]>): Promise<Answer<"enqueue">> {
    return this.#write("enqueue", args);
  }

  amend(...args: Parameters<Store["amend"]>): Promise<Answer<"amend">> {
    return this.#write("amend", args);
  }

  seal(...args: Parameters<Store["seal"]>): Promise<Answer<"seal">> {
    return this.#write("seal", args);
  }

  lease(...args: Parameters<Store["lease"]>): Promise<Answer<"lease">> {
    return this.#write("lease", args);
  }

  transition(...args: Parameters<Store["transition"]>): Promise<Answer<"transition">> {
    return this.#write("transition", args);
  }

  settle(...args: Parameters<Store["settle"]>): Promise<Answer<"settle">> {
    return this.#write("settle", args);
  }

  deliveries(...args: Parameters<Store["deliveries"]>): Promise<Answer<"deliveries">> {
    return this.#write("deliveries", args);
  }

  async probe(...args: Parameters<Store["probe"]>): ReturnType<Store["probe"]> {
    await this.#open();
    return this.#memory.probe(...args);
  }

  async requests(...args: Parameters<Store["requests"]>): ReturnType<Store["requests"]> {
    await this.#open();
    return this.#memory.requests(...args);
  }

  async outcomes(...args: Parameters<Store["outcomes"]>): ReturnType<Store["outcomes"]> {
    await this.#open();
    return this.#memory.outcomes(...args);
  }

  async batches(...args: Parameters<Store["batches"]>): ReturnType<Store["batches"]> {
    await this.#open();
    return this.#memory.batches(...args);
  }

  async find(...args: Parameters<Store["find"]>): ReturnType<Store["find"]> {
    await this.#open();
    return this.#memory.find(...args);
  }

  async usage(...args: Parameters<Store["usage"]>): ReturnType<Store["usage"]> {
    await this.#open();
    return this.#memory.usage(...args);
  }

  marks(...args: Parameters<Store["marks"]>): Promise<Answer<"marks">> {
    return this.#write("marks", args);
  }

  payers(...args: Parameters<Store["payers"]>): Promise<Answer<"payers">> {
    return this.#write("payers", args);
  }

  prune(...args: Parameters<Store["prune"]>): Promise<Answer<"prune">> {
    return this.#write("prune", args);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await this.#writes.close();
    const file = await this.#opening?.catch(() => null);
    await file?.close();
    await this.#memory.close();
  }

  async #write<Name extends Write>(name: Name, args: Parameters<Store[Name]>): Promise<Answer<Name>> {
    this.#assertOpen();
    return (await this.#writes.submit({ name, args })) as Answer<Name>;
  }

  /** Writes to the disk first, then applies in memory, in the same order. */
  async #commit(entries: readonly Entry[]): Promise<unknown[]> {
    const file = await this.#opened();
    const lines = Buffer.from(entries.map((entry) => `${serialize(entry).toString("base64")}\n`).join(""));
    try {
      if (this.#torn) await file.truncate(this.#length);
      this.#torn = true;
      for (let done = 0; done < lines.length; ) {
        done += (await file.write(lines, done, lines.length - done, this.#length + done)).bytesWritten;
      }
      await file.datasync();
      this.#torn = false;
    } catch (error) {
      throw storeError(error);
    }
    this.#length += lines.length;
    return Promise.all(entries.map((entry) => this.#apply(entry)));
  }

  async #open(): Promise<void> {
    this.#assertOpen();
    await this.#opened();
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new DispatchError("CLOSED", "The store is closed.");
  }

  /** Opens the file once; after a failure, the next call tries again. */
  #opened(): Promise<FileHandle> {
    this.#opening ??= this.#replay().catch((error: unknown) => {
      this.#opening = null;
      throw storeError(error);
    });
    return this.#opening;
  }

  async #replay(): Promise<FileHandle> {
    const file = await open(this.#path, "a+").then(async (made) => {
      await made.close(); // "a+" creates a missing file, but would ignore our positions
      return open(this.#path, "r+");
    });
    const text = await file.readFile("latin1");
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", this.#length)) {
      const entry = deserialize(Buffer.from(text.slice(this.#length, end), "base64")) as Entry;
      await this.#apply(entry);
      this.#length = end + 1;
    }
    return file;
  }

  #apply({ name, args }: Entry): Promise<unknown> {
    const method = this.#memory[name] as (...args: readonly unknown[]) => Promise<unknown>;
    return method.apply(this.#memory, [...args]);
  }
}

function storeError(error: unknown): DispatchError {
  if (error instanceof DispatchError) return error;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const reason = `The journal failed: ${String(message ?? error)}`;
  if (code === "ENOSPC" || code === "EDQUOT") return new DispatchError("STORE_FULL", reason, error);
  if (code === "EROFS" || code === "EACCES") return new DispatchError("STORE_READ_ONLY", reason, error);
  return new DispatchError("STORE_UNAVAILABLE", reason, error);
}

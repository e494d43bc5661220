// The objects of a fake object storage, and the faults, counts and lists that both wire formats
// share. Objects are replaced atomically: a reader sees all of one or nothing.

import { refuseUnknown } from "../../../core/contract/validate.ts";
import type { Clock } from "../../../core/time/clock.ts";
import { type DROPPED, type Exchange, Refusal, type Reply } from "../exchange.ts";
import type { FakeFault, FakeOperation } from "../fault-types.ts";
import { answerUnder, FaultBook } from "../faults.ts";
import { seededRandom } from "../random.ts";
import { type Fetch, inProcessFetch, type Listening, listen } from "../transport.ts";
import type { FakeObjects } from "../types.ts";

const wallClock: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, delayMs),
  clearTimeout: (handle) => clearTimeout(handle as never),
};

/** Options of `fakeS3` and `fakeGcs`. */
export interface FakeStorageOptions {
  /** Buckets that exist. Default: `["bucket"]`. */
  readonly buckets?: readonly string[];
  /**
   * Object times, in ms since 1970, and timers of delayed answers. Default: the machine's clock.
   */
  readonly clock?: Clock;
  /** Objects per list page. Default 1_000. */
  readonly pageSize?: number;
  /**
   * Minimum bytes of every upload part but the last. Default: 5 MiB in S3, 256 KiB in Cloud
   * Storage.
   */
  readonly minPartBytes?: number;
  /** Seed for faults with a `chance`. Default 1. */
  readonly seed?: number;
}

/** A fake of an object storage, over real HTTP. */
export interface FakeStorage extends FakeObjects {
  /** The same without a socket, for clients that accept a `fetch`. Works under a virtual clock. */
  readonly fetch: Fetch;
  /** Serves on a free port of 127.0.0.1; several calls serve the same objects. */
  listen(): Promise<Listening>;
  /** Number of calls received, faulty ones included; of one operation or of all. */
  calls(operation?: FakeOperation): number;
  /** Number of uploads neither completed nor aborted. */
  readonly openUploads: number;
  /** Names of a bucket's objects, in order. */
  names(bucket: string): string[];
}

export interface StoredObject {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly updatedAt: number;
  /** Number of writes to the whole storage. */
  readonly generation: number;
}

/** One page of a list, in the order of names. */
export interface ObjectPage {
  readonly objects: readonly StoredObject[];
  /** The name after which the next page begins; null at the end. */
  readonly next: string | null;
}

/** One wire format over a shelf. */
export interface StorageSurface {
  /** The operation of a call; null if it is unknown. */
  operationOf(exchange: Exchange): FakeOperation | null;
  run(operation: FakeOperation, exchange: Exchange): Reply;
  refuse(refusal: Refusal): Reply;
}

export class ObjectShelf {
  readonly clock: Clock;
  readonly minPartBytes: number;
  readonly #pageSize: number;
  readonly #faults: FaultBook;
  readonly #buckets: Map<string, Map<string, StoredObject>> = new Map();
  readonly #calls: Map<FakeOperation, number> = new Map();
  #writes = 0;

  constructor(options: FakeStorageOptions, minPartBytes: number) {
    refuseUnknown(options, ["buckets", "clock", "pageSize", "minPartBytes", "seed"]);
    this.clock = options.clock ?? wallClock;
    this.minPartBytes = options.minPartBytes ?? minPartBytes;
    this.#pageSize = options.pageSize ?? 1_000;
    this.#faults = new FaultBook(seededRandom(options.seed ?? 1), () => this.clock.now());
    for (const bucket of options.buckets ?? ["bucket"]) this.#buckets.set(bucket, new Map());
  }

  hasBucket(bucket: string): boolean {
    return this.#buckets.has(bucket);
  }

  get(bucket: string, name: string): StoredObject | null {
    return this.#buckets.get(bucket)?.get(name) ?? null;
  }

  put(bucket: string, name: string, bytes: Uint8Array): StoredObject {
    const objects = this.#buckets.get(bucket);
    if (objects === undefined) throw new Refusal(404, "no_such_bucket", `There is no bucket "${bucket}".`);
    this.#writes += 1;
    const stored = { name, bytes, updatedAt: this.clock.now(), generation: this.#writes };
    objects.set(name, stored);
    return stored;
  }

  delete(bucket: string, name: string): boolean {
    return this.#buckets.get(bucket)?.delete(name) ?? false;
  }

  names(bucket: string): string[] {
    return [...(this.#buckets.get(bucket)?.keys() ?? [])].sort();
  }

  page(bucket: string, prefix: string, after: string, limit: number): ObjectPage {
    const names = this.names(bucket).filter((name) => name.startsWith(prefix) && name > after);
    const shown = names.slice(0, Math.min(limit, this.#pageSize));
    const objects = shown.flatMap((name) => this.get(bucket, name) ?? []);
    return { objects, next: shown.length < names.length ? (shown.at(-1) ?? null) : null };
  }

  async answer(surface: StorageSurface, exchange: Exchange): Promise<Reply | typeof DROPPED> {
    const operation = surface.operationOf(exchange);
    if (operation === null) return surface.refuse(unknownCall(exchange));
    this.#calls.set(operation, this.calls(operation) + 1);
    const refuse = (refusal: Refusal): Reply => surface.refuse(refusal);
    const run = (): Reply => {
      try {
        return surface.run(operation, exchange);
      } catch (error) {
        if (error instanceof Refusal) return refuse(error);
        throw error;
      }
    };
    return answerUnder(this.#faults.take(operation), this.clock, run, refuse);
  }

  inject(fault: FakeFault): void {
    this.#faults.add(fault);
  }

  get faultsHit(): number {
    return this.#faults.hits;
  }

  heal(): void {
    this.#faults.clear();
  }

  calls(operation?: FakeOperation): number {
    if (operation !== undefined) return this.#calls.get(operation) ?? 0;
    let total = 0;
    for (const count of this.#calls.values()) total += count;
    return total;
  }
}

function unknownCall({ method, path }: Exchange): Refusal {
  return new Refusal(501, "not_implemented", `The fake has no ${method} ${path}.`);
}

/** The test's handle: the shelf behind one wire format. */
export function storageOf(shelf: ObjectShelf, surface: StorageSurface, openUploads: () => number): FakeStorage {
  return {
    fetch: inProcessFetch((exchange) => shelf.answer(surface, exchange)),
    listen: () => listen((exchange) => shelf.answer(surface, exchange)),
    inject: (fault) => shelf.inject(fault),
    get faultsHit() {
      return shelf.faultsHit;
    },
    heal: () => shelf.heal(),
    calls: (operation) => shelf.calls(operation),
    get openUploads() {
      return openUploads();
    },
    names: (bucket) => shelf.names(bucket),
    read: (bucket, name) => shelf.get(bucket, name)?.bytes ?? null,
    write: (bucket, name, bytes) => {
      shelf.put(bucket, name, typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes);
    },
  };
}

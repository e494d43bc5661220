// A dispatcher with one provider family and one of four stores, in virtual time over real sockets
// and databases: time stands still during any call to the provider, the storage or the store,
// unless the call waits for the fake.

import {
  type Account,
  type BatchRecord,
  createDispatcher,
  type Dispatcher,
  type Outcome,
  type Store,
} from "batchwise/dispatch";
import {
  type FakeObjects,
  type FakePlan,
  type FakeProvider,
  type FakeStorage,
  fakeProvider,
} from "batchwise/dispatch/testing";
import { type Clock, type VirtualClock, virtualClock } from "batchwise/testing";
import { type Family, requestsOf } from "./families.ts";

const START = Date.UTC(2026, 0, 5, 8);
const MINUTE = 60_000;
/** After this many turns of the event loop without a running call, nothing runs. */
const QUIET_TURNS = 2;
const MOST_STEPS = 20_000;

/**
 * What a job writes as its results: the lines as they would be, to whatever is to be there. null:
 * no object.
 */
export type Output = (lines: readonly string[]) => string | Uint8Array | null;

export interface Site {
  readonly family: Family;
  readonly time: VirtualClock;
  readonly fake: FakeProvider;
  readonly storage: FakeStorage;
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  /** The errors that `onError` has received. */
  readonly told: readonly string[];
  readonly ids: readonly string[];
  /** Runs time on until the condition holds; rejects after so many virtual hours. */
  until(condition: () => boolean | Promise<boolean>, hours: number): Promise<void>;
  outcomes(): Promise<Outcome[]>;
  batches(): Promise<readonly BatchRecord[]>;
  close(): Promise<void>;
}

/** Counts calls that have no answer yet. */
class Traffic {
  open = 0;
  /** Calls that may have ended a request or a batch. */
  changes = 0;
  readonly #pending: Set<object> = new Set();

  /** Virtual timers that the fakes wait for: the calls behind them do not count as running. */
  get isStill(): boolean {
    return this.open <= this.#pending.size;
  }

  watch<T>(call: Promise<T>): Promise<T> {
    this.open += 1;
    return call.finally(() => {
      this.open -= 1;
    });
  }

  /** The same object, each of whose promises counts. */
  around<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (object, name) => {
        const value: unknown = Reflect.get(object, name);
        if (typeof value !== "function") return value;
        const changes = name === "settle" || name === "transition" ? 1 : 0;
        return (...given: unknown[]) => {
          this.changes += changes;
          const answer: unknown = value.apply(object, given);
          if (answer instanceof Promise) return this.watch(answer);
          return isStream(answer) ? this.#stream(answer) : answer;
        };
      },
    });
  }

  async *#stream(stream: AsyncIterable<unknown>): AsyncGenerator<unknown> {
    const items = stream[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await this.watch(Promise.resolve(items.next()));
        if (done === true) return;
        yield value;
      }
    } finally {
      if (items.return !== undefined) await this.watch(Promise.resolve(items.return()));
    }
  }

  clockOf(time: VirtualClock): Clock {
    return {
      now: () => time.now(),
      setTimeout: (callback: () => void, ms: number) => {
        const pending = {};
        this.#pending.add(pending);
        return time.setTimeout(() => {
          this.#pending.delete(pending);
          callback();
        }, ms);
      },
      clearTimeout: (handle: unknown) => time.clearTimeout(handle),
    };
  }
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** What the fake writes goes through `output`, where it is results. */
function writingTo(
  storage: FakeStorage,
  results: RegExp,
  output: Output,
  onWrite: (mend: () => void) => void,
): FakeObjects {
  let isFirst = true;
  return {
    read: (bucket, name) => storage.read(bucket, name),
    inject: (fault) => storage.inject(fault),
    get faultsHit() {
      return storage.faultsHit;
    },
    heal: () => storage.heal(),
    write(bucket, name, bytes) {
      if (!results.test(name)) return storage.write(bucket, name, bytes);
      const text = typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes);
      const lines = text.split("\n").filter((line) => line !== "");
      const written = isFirst ? output(lines) : text;
      if (written !== null) storage.write(bucket, name, written);
      if (isFirst) onWrite(() => storage.write(bucket, name, text));
      isFirst = false;
    },
  };
}

const USUAL: Partial<FakePlan> = { validateMs: MINUTE, runMs: 5 * MINUTE, finalizeMs: 0 };

const AS_IT_IS: Output = (lines) => lines.map((line) => `${line}\n`).join("");

export interface SiteOptions {
  readonly requests: number;
  readonly plan?: Partial<FakePlan>;
  /** Of the first job. */
  readonly output?: Output;
  /** So long after it has written, the right results are there. */
  readonly overAfterMs?: number;
}

export async function openSite(family: Family, store: Store, options: SiteOptions): Promise<Site> {
  const time = virtualClock(START);
  const traffic = new Traffic();
  const clock = traffic.clockOf(time);
  const storage = family.service.storage(clock);
  const { output = AS_IT_IS, overAfterMs } = options;
  const objects = writingTo(storage, family.service.output, output, (mend) => {
    if (overAfterMs !== undefined) time.setTimeout(mend, overAfterMs);
  });
  // What the test has planned holds for the first job: what is sent again goes well.
  const plan = ({ index }: { readonly index: number }): Partial<FakePlan> => ({
    ...USUAL,
    ...(index === 0 ? options.plan : {}),
  });
  const fake = fakeProvider({ clock, storage: objects, plan });
  const [server, files] = [await fake.listen(), await storage.listen()];
  const { account, close } = family.service.open(server.url, files.url);
  const told: string[] = [];
  const dispatcher = createDispatcher({
    store: traffic.around(store),
    accounts: [traffic.around<Account>(account)],
    thresholds: { maxRequests: options.requests, maxAgeMs: MINUTE },
    onError: (error) => void told.push(String(error)),
    random: () => 0.5,
    stuckAfterMs: 60 * MINUTE,
    clock: {
      now: () => time.now(),
      monotonic: () => time.now(),
      setTimeout: (callback: () => void, ms: number) => time.setTimeout(callback, ms),
      clearTimeout: (handle: unknown) => time.clearTimeout(handle),
    },
  });
  const until = async (condition: () => boolean | Promise<boolean>, hours: number): Promise<void> => {
    const end = time.now() + hours * 60 * MINUTE;
    for (let steps = 0, seen = -1; steps < MOST_STEPS && time.now() <= end; steps += 1) {
      await still(time, traffic);
      if (seen !== traffic.changes && (await condition())) return;
      seen = traffic.changes;
      await time.advance(Math.max(0, time.nextAt - time.now()));
    }
    const left = (await store.batches({ limit: 10 })).map(({ state, lastError }) => `${state} ${lastError}`);
    throw new Error(`It did not come about: ${JSON.stringify(left)}; told: ${JSON.stringify(told.slice(-5))}`);
  };
  const requests = requestsOf(family, options.requests);
  await dispatcher.start();
  await dispatcher.enqueueMany(requests);
  const ids = requests.map(({ id }) => String(id));
  return {
    ...{ family, time, fake, storage, store, dispatcher, told, ids, until },
    outcomes: () => Promise.all(ids.map((id) => dispatcher.result(id))),
    batches: () => dispatcher.batches(),
    async close() {
      await dispatcher.stop();
      close();
      await Promise.all([server.close(), files.close()]);
    },
  };
}

async function still(time: VirtualClock, traffic: Traffic): Promise<void> {
  for (let quiet = 0; quiet < QUIET_TURNS; quiet = traffic.isStill ? quiet + 1 : 0) {
    await time.settle();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

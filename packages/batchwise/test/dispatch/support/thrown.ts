// Courses of a batch that together pass through the steps of the dispatcher, and a world in which
// each call of the store and of the account may throw. A second account, with a request of its own,
// shows whether the others go on.

import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import type { Failure } from "../../../src/dispatch/contract/failures.ts";
import type { DispatchRequest, OutcomeStatus } from "../../../src/dispatch/contract/types.ts";
import { type Fate, type SimOptions, SimProvider } from "./simulation/sim-provider.ts";
import { SimRunner } from "./simulation/sim-runner.ts";
import { ask, isAtRest, SimProcess, storeDown, type World, world } from "./world.ts";

const MINUTE = 60_000;
const WORDS = "Thrown by the test";

/** The errors that a call throws. */
export const kinds = {
  bug: (): Error => new TypeError(`Cannot read properties of undefined (reading '${WORDS}')`),
  store: (): Error => Object.assign(storeDown(), { message: WORDS }),
  network: (): Error => {
    const cause = Object.assign(new Error(`connect ECONNREFUSED: ${WORDS}`), { code: "ECONNREFUSED" });
    return new TypeError("fetch failed", { cause });
  },
} as const;
export type Kind = keyof typeof kinds;

export interface Course {
  readonly requests?: (now: number) => readonly DispatchRequest[];
  /** Default: as many as there are. */
  readonly maxRequests?: number;
  readonly options?: Partial<SimOptions>;
  account?(here: World, sim: SimProvider): Account;
  /** An operator's action half a minute later. */
  operate?(here: World, dispatcher: Dispatcher): Promise<unknown>;
  /** Default: all succeeded. */
  readonly ends?: readonly OutcomeStatus[];
  /** A call that is repeated for a day before a report. */
  readonly quiet?: string;
}

const busy: Failure = { kind: "rateLimited", code: "busy", message: "Later.", retryAfterMs: 2 * MINUTE };
const odd = { code: "odd", message: "No." };

function once(operation: string, fate: Fate): NonNullable<SimOptions["fate"]> {
  let isOver = false;
  return (called) => {
    if (called !== operation || isOver) return {};
    isOver = true;
    return fate;
  };
}

/** An account that has all that one may have. */
function full(_here: World, sim: SimProvider): Account {
  return {
    ...sim.account({ listsFiles: true }),
    isFileReady: async () => true,
    countRan: async () => null,
    cleanup: async () => {},
    deleteFile: async () => {},
    async *listFiles() {
      for (const { tag } of sim.batches) yield { fileId: "older", fileName: `${tag?.key}-0.jsonl` };
    },
  };
}

export const courses = {
  "sent as a file": () => ({
    options: { plan: ({ index }) => ({ statusOf: (id) => (index === 0 && id === "a" ? 500 : 200) }) },
  }),
  "sent inline, two at once": () => ({
    maxRequests: 1,
    account: (_here, sim) => sim.account({ maxInlineBytes: Number.POSITIVE_INFINITY }),
  }),
  "whose create is lost": () => ({ options: { fate: once("create", { drop: "after" }) } }),
  "whose create is lost, without tags": () => ({
    account: (_here, sim) => sim.account({ tag: "none" }),
    options: { fate: once("create", { drop: "after" }) },
  }),
  "whose create is lost, with a token": () => ({
    account: (_here, sim) => sim.account({ tag: "idempotencyToken" }),
    options: { fate: once("create", { drop: "after" }) },
  }),
  "whose create is lost, and can be found": () => ({
    account: (_here, sim) => ({
      ...sim.account(),
      find: async ({ key }) => sim.batches.filter(({ tag }) => tag?.key === key),
    }),
    options: { fate: once("create", { drop: "before" }) },
  }),
  cancelled: () => ({
    options: { plan: () => ({ runMs: 5 * MINUTE }) },
    operate: (_here, dispatcher) => dispatcher.cancel(["a", "b"]),
    ends: ["cancelled", "cancelled"],
  }),
  abandoned: () => ({
    options: { fate: once("cancel", { drop: "before" }) },
    operate: async (here, dispatcher) => {
      const [batch] = await here.store.batches({ account: "sim", limit: 1 });
      if (batch !== undefined) await dispatcher.abandon(batch.key, { requests: "end" });
    },
    ends: ["cancelled", "cancelled"],
    quiet: "account.cancel",
  }),
  "refused as a whole": () => ({
    options: { fate: once("create", { refuse: { kind: "invalidRequest", ...odd, lines: [] } }) },
  }),
  "with a line that is refused": () => ({
    options: {
      plan: ({ index }) =>
        index > 0 ? {} : { failure: { kind: "invalidRequest", ...odd, lines: [{ line: 1, ...odd }] } },
    },
    ends: ["failed", "succeeded"],
  }),
  "with a deadline that passes": () => ({
    requests: (now) => [ask("a", { deadlineAt: now + MINUTE }), ask("b")],
    options: { fate: once("create", { refuse: busy }) },
    ends: ["expired", "succeeded"],
  }),
  "whose results are short at first": () => ({
    account: full,
    options: { plan: () => ({ short: { lines: 1, forMs: 4 * MINUTE } }) },
  }),
  "of a bad hour": () => ({
    requests: () => Array.from({ length: 20 }, (_, n) => ask(`r${n}`)),
    options: { plan: ({ index }) => ({ statusOf: () => (index === 0 ? 503 : 200) }) },
  }),
  "run by its account": () => ({
    account: ({ time }) =>
      new SimRunner({
        time,
        lineMs: () => 1_000,
        statusOf: (id, run) => (id === "a" && run === 1 ? 500 : 200),
      }).account(),
  }),
} satisfies Record<string, () => Course>;
export type CourseName = keyof typeof courses;

const PURE: ReadonlySet<string> = new Set([
  "encodeLine",
  "checkBody",
  "isNamedByPlace",
  "jsonSchemasOf",
  "classify",
  "secrets",
]);
const STREAMS: ReadonlySet<string> = new Set(["results", "execute", "listFiles"]);

/** The same object; `check` is called before each call of it, with its name, and may throw. */
function checked<T extends object>(target: T, side: string, check: (name: string) => void): T {
  return new Proxy(target, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key);
      if (typeof value !== "function" || PURE.has(String(key))) return value;
      const name = `${side}.${String(key)}`;
      const method = value.bind(object) as (...given: unknown[]) => unknown;
      if (!STREAMS.has(String(key))) {
        return async (...given: unknown[]) => {
          check(name);
          return method(...given);
        };
      }
      return async function* (...given: unknown[]) {
        check(name);
        yield* method(...given) as AsyncIterable<unknown>;
      };
    },
  });
}

/**
 * Starts the course. From then on `faults` is called at each call, with its number from 0, and
 * returns the error to throw.
 */
export async function begin(name: CourseName, faults: (call: string, number: number) => Error | null) {
  const course: Course = courses[name]();
  const here = world();
  const { plan } = course.options ?? {};
  const sim = new SimProvider({ ...course.options, time: here.time, plan: (of) => ({ runMs: MINUTE, ...plan?.(of) }) });
  const calls = new Map<string, number>();
  let isOn = false;
  let thrown = 0;
  const check = (call: string): void => {
    if (!isOn) return;
    const number = calls.get(call) ?? 0;
    calls.set(call, number + 1);
    const fault = faults(call, number);
    if (fault === null) return;
    thrown += 1;
    throw fault;
  };
  const told = new Set<unknown>();
  const delivered = new Set<string>();
  const requests = course.requests?.(here.time.now()) ?? ["a", "b"].map((id) => ask(id));
  const account = { ...(course.account ?? full)(here, sim), name: "sim", models: ["m"] };
  const well = { ...new SimProvider({ time: here.time }).account(), name: "well", models: ["other"] };
  const dispatcher = await here.start({
    store: checked(here.store, "store", check),
    accounts: [checked(account, "account", check), well],
    thresholds: { maxRequests: course.maxRequests ?? requests.length, maxAgeMs: MINUTE },
    clock: new SimProcess(here.time).clock,
    onError: (error) => void told.add(error),
    onOutcome: ({ id }) => void delivered.add(id),
    onBatch: () => {},
  });
  const { body } = ask("other");
  await dispatcher.enqueueMany([...requests, { id: "other", body: { ...body, model: "other" } }]);
  isOn = true;
  let refused: unknown = null;
  const operated = here.time.advance(30_000).then(() => {
    course.operate?.(here, dispatcher).catch((error: unknown) => {
      refused = error;
    });
  });
  const ends = course.ends ?? requests.map((): OutcomeStatus => "succeeded");
  return {
    ...{ ...here, sim, dispatcher, calls, delivered, operated, ends },
    /** True if the error was reported: to onError, or to the operator who made the call. */
    isTold: (call: string) => thrown === 0 || call === course.quiet || [...told, refused].some(isThrown),
    isRefused: () => refused !== null,
  };
}

/**
 * An account's trouble is reported once until it ends, so another failed call may have reported it.
 */
function isThrown(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message.includes(WORDS) || isThrown(error.cause) || String(error.message).includes("gave no answer");
}

/** True once nothing is left to do, but for batches that wait for a person. */
export async function isOver({ store, time }: World): Promise<boolean> {
  const batches = await store.batches({ limit: 100 });
  if (batches.some(({ state }) => state !== "done" && state !== "quarantined")) return false;
  return isAtRest(store, time.now());
}

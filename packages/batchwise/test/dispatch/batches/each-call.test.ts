// Throws at each awaited call of each step, of the store and of the account, once and always: a
// mistake in code, a store that is down, a network that is down. In all cases the fault is
// reported, every request ends once, and the others continue. Only a permanent mistake quarantines
// a batch. `EVERY=1` throws at every call, not only at the first ones.

import { expect, test } from "vitest";
import { runsAllCases } from "../support/breadth.ts";
import { begin, type CourseName, courses, isOver, type Kind, kinds } from "../support/thrown.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const allKinds = Object.keys(kinds) as Kind[];
const names = Object.keys(courses) as CourseName[];
/** Loops make these calls, too: by the hundred. */
const OF_LOOPS = ["store.probe", "store.marks", "store.lease", "store.deliveries", "store.amend"];
type Run = Awaited<ReturnType<typeof begin>>;

/** The calls of one name at which is thrown: the first and the second, or one of them by turns. */
function numbersOf(call: string, count: number, turn: number): readonly number[] {
  if (process.env.EVERY !== undefined) return Array.from({ length: count }, (_, number) => number);
  const first = OF_LOOPS.includes(call) ? 1 : Math.min(count, 2);
  return runsAllCases ? [0, 1].slice(0, first) : [turn % first];
}

/** Every kind under `npm run prove`; otherwise each call throws one, and the kinds take turns. */
function kindsIn(turn: number): readonly Kind[] {
  return runsAllCases ? allKinds : allKinds.slice(turn % allKinds.length).slice(0, 1);
}

/** Runs to the end and returns all faults. */
async function faultsAtEnd(run: Run, ends: readonly string[] = run.ends): Promise<string[]> {
  const { store, time, sim, dispatcher, delivered } = run;
  const faults: string[] = [];
  await run.until(() => isOver(run), 12 * HOUR).catch((error: Error) => faults.push(error.message));
  for (const { state, account } of await store.batches({ limit: 100 })) {
    if (state !== "done") faults.push(`a batch of ${account} is ${state}`);
  }
  await time.advance(11 * MINUTE);
  const outcomes = (await store.outcomes({ after: 0, limit: 100 })).filter(({ id }) => id !== "other");
  const statuses = outcomes.map(({ status }) => status).sort();
  // An operator repeats a refused call.
  if (!run.isRefused() && String(statuses) !== String(ends)) faults.push(`the outcomes are ${statuses}`);
  if (delivered.size !== ends.length + 1) faults.push(`delivered are ${[...delivered]}`);
  for (const [id, runs] of sim.successes()) if (runs > 1) faults.push(`${id} has run ${runs} times`);
  let isStopped = false;
  void dispatcher.stop().then(() => {
    isStopped = true;
  });
  for (let seconds = 0; seconds < 100 && !isStopped; seconds += 1) await time.advance(1_000);
  if (!isStopped || time.timers > 0) faults.push("it does not stop");
  return faults;
}

async function plainRun(name: CourseName): Promise<Run> {
  const run = await begin(name, () => null);
  await run.operated;
  await run.until(() => isOver(run));
  return run;
}

test.each(names)(
  "a batch %s survives whatever one call throws",
  async (name) => {
    const plain = await plainRun(name);
    expect(await faultsAtEnd(plain)).toEqual([]);
    expect(always.map(([, call]) => call)).toEqual(expect.arrayContaining([...plain.calls.keys()]));
    const found: Record<string, string[]> = {};
    let turn = names.indexOf(name);
    for (const [call, count] of plain.calls) {
      for (const number of numbersOf(call, count, turn)) {
        turn += 1;
        for (const kind of kindsIn(turn)) {
          const run = await begin(name, (at, n) => (at === call && n === number ? kinds[kind]() : null));
          await run.operated;
          const faults = await faultsAtEnd(run);
          if (!run.isTold(call)) faults.push("nobody is told");
          if (faults.length > 0) found[`${kind} at ${call} ${number}`] = faults;
        }
      }
    }
    expect(found).toEqual({});
  },
  300_000,
);

/**
 * The batch's fate while a call always throws: it ends, waits for the call to work again, or is
 * quarantined.
 */
type Fate = "ends" | "waits" | "is put aside";

/** By call: after a mistake in code, and after everything else. */
const always: readonly (readonly [CourseName, string, Fate, Fate])[] = [
  ["sent as a file", "account.upload", "is put aside", "waits"],
  ["sent as a file", "account.isFileReady", "ends", "ends"],
  // It may have been done.
  ["sent as a file", "account.create", "waits", "waits"],
  ["whose create is lost", "account.list", "waits", "waits"],
  ["whose create is lost, and can be found", "account.find", "waits", "waits"],
  // Each batch is retrieved by its id.
  ["sent inline, two at once", "account.list", "ends", "ends"],
  ["sent as a file", "account.retrieve", "is put aside", "waits"],
  ["sent as a file", "account.results", "is put aside", "waits"],
  // All results come in the end, and are not counted then.
  ["whose results are short at first", "account.countRan", "ends", "ends"],
  // With what it has run until then.
  ["cancelled", "account.cancel", "ends", "ends"],
  ["run by its account", "account.execute", "is put aside", "waits"],
  ["sent as a file", "account.cleanup", "ends", "ends"],
  ["sent as a file", "account.listFiles", "ends", "ends"],
  ["sent as a file", "account.deleteFile", "ends", "ends"],
  ["sent as a file", "store.seal", "waits", "waits"],
  ["sent as a file", "store.lease", "waits", "waits"],
  ["sent as a file", "store.probe", "waits", "waits"],
  ["sent as a file", "store.marks", "waits", "waits"],
  ["sent as a file", "store.batches", "ends", "ends"],
  ["whose create is lost, without tags", "store.batches", "waits", "waits"],
  ["sent as a file", "store.requests", "is put aside", "waits"],
  ["sent as a file", "store.transition", "waits", "waits"],
  ["sent as a file", "store.settle", "is put aside", "waits"],
  ["sent as a file", "store.deliveries", "ends", "ends"],
  // All of its requests have ended.
  ["sent as a file", "store.find", "waits", "waits"],
  ["sent as a file", "store.outcomes", "waits", "waits"],
  ["sent as a file", "store.amend", "ends", "ends"],
];

/** The worst of the account's batches. */
async function fateOf({ store }: Run): Promise<Fate> {
  const states = (await store.batches({ account: "sim", limit: 100 })).map(({ state }) => state);
  if (states.includes("quarantined")) return "is put aside";
  return states.length > 0 && states.every((state) => state === "done") ? "ends" : "waits";
}

/** The other kinds have the same fate, and take turns in `npm test`. */
const others = allKinds.filter((kind) => kind !== "bug");

test.each(
  always.flatMap(([name, call, ofBug, ofOthers], row) => {
    const these = runsAllCases ? others : others.slice(row % others.length).slice(0, 1);
    const rest = these.map((kind) => [name, ofOthers, call, kind] as const);
    return [[name, ofBug, call, "bug"] as const, ...rest];
  }),
)("a batch %s %s while %s throws (%s)", async (name, fate, call, kind) => {
  let isOn = true;
  const run = await begin(name, (at) => (isOn && at === call ? kinds[kind]() : null));
  await run.operated;
  await run.time.advance(2 * HOUR);
  expect(await fateOf(run)).toBe(fate);
  expect(run.isTold(call)).toBe(true);
  const [other] = await run.store.outcomes({ ids: ["other"] });
  if (call.startsWith("account")) expect(other?.status).toBe("succeeded");
  isOn = false;
  const aside = await run.store.batches({ states: ["quarantined"], limit: 100 });
  for (const { key } of aside) void run.dispatcher.resume(key);
  const ends = call === "account.cancel" ? ["succeeded", "succeeded"] : run.ends;
  expect(await faultsAtEnd(run, ends)).toEqual([]);
});

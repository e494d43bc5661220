// Keeps with a job which `requestDefaults` its requests got, so that a run with other ones does not
// give the answers of the old ones without a word. Kept as a mark of the store, for the jobs that
// were run last.

import { createHash } from "node:crypto";
import { DispatchError } from "../contract/errors.ts";
import type { OnChange } from "../contract/jobs.ts";
import type { MarkChange, MarkRow } from "../contract/rows.ts";
import type { Store } from "../contract/store.ts";
import type { Json, JsonObject } from "../contract/types.ts";
import { storedMessage } from "../format/stored-code.ts";

const PREFIX = "job defaults ";
/** All marks are read together and often, so there is an end to them. */
const MOST_JOBS = 1_000;
const DIGEST_CHARACTERS = 16;

/** The defaults of one run of a job. */
export interface JobDefaults {
  readonly job: string;
  readonly requestDefaults: JsonObject;
  /** Default "refuse". */
  readonly onChange?: OnChange;
}

/** A digest for each field of the defaults. */
type Digests = Readonly<Record<string, string>>;

interface Kept {
  /** When the job was last run. */
  readonly at: number;
  readonly fields: Digests;
}

/**
 * Keeps the job's `requestDefaults`, of which the order of keys does not count. A job that has none
 * yet takes these. `runBatch` calls it before it enqueues; a job of your own making calls it there,
 * too.
 *
 * @throws DispatchError DEFAULTS_CHANGED where an earlier run had other ones and `onChange` is
 *   "refuse", the default. With "keep" these are kept from then on: requests that are not stored
 *   yet get them, and those that are stay as they are.
 *
 * @example
 * ```ts
 * import { keepJobDefaults, memoryStore } from "batchwise/dispatch";
 * const store = memoryStore();
 * await keepJobDefaults(store, { job: "night", requestDefaults: { model: "gpt-4o-mini" } });
 * ```
 */
export async function keepJobDefaults(
  store: Pick<Store, "marks" | "usage">,
  given: JobDefaults,
  now: number = Date.now(),
): Promise<void> {
  const { job, requestDefaults, onChange = "refuse" } = given;
  const name = storedMessage(PREFIX + job);
  const fields = digestsOf(requestDefaults);
  for (;;) {
    const marks = await store.marks([], now);
    const present = marks.find((mark) => mark.name === name)?.value ?? null;
    const changed = present === null ? [] : changedFields((JSON.parse(present) as Kept).fields, fields);
    if (changed.length > 0 && onChange === "refuse" && (await hasRequests(store, job)))
      throw changedError(job, changed);
    const value = JSON.stringify({ at: now, fields } satisfies Kept);
    const changes = [{ name, expected: present, value }, ...oldest(marks, name)];
    const written = await store.marks(changes, now);
    // Another process of the job may have been quicker.
    if (written.some((mark) => mark.name === name && mark.value === value)) return;
  }
}

/** False where earlier runs were refused before anything of them was stored. */
async function hasRequests(store: Pick<Store, "usage">, job: string): Promise<boolean> {
  return (await store.usage({ job })).some(({ requests }) => requests > 0);
}

function digestsOf(defaults: JsonObject): Digests {
  return Object.fromEntries(
    Object.keys(defaults)
      .sort()
      .map((field) => [field, digestOf(defaults[field] ?? null)]),
  );
}

function digestOf(value: Json): string {
  return createHash("sha256").update(canonical(value)).digest("hex").slice(0, DIGEST_CHARACTERS);
}

/** JSON text with sorted keys. A field that is undefined is left out, as in every body. */
function canonical(value: Json): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function changedFields(before: Digests, now: Digests): string[] {
  const fields = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...fields].filter((field) => before[field] !== now[field]).sort();
}

function changedError(job: string, fields: readonly string[]): DispatchError {
  const named = fields.map((field) => `\`${field}\``).join(", ");
  const what = `The job "${job}" was run with other \`requestDefaults\` (${named}), and would give the answers of those`;
  return new DispatchError("DEFAULTS_CHANGED", `${what}: use a new \`job\`, or \`onChange: "keep"\`.`);
}

/** Takes away the job that was run longest ago, where there would be too many. */
function oldest(marks: readonly MarkRow[], own: string): MarkChange[] {
  const others = marks.filter(({ name }) => name.startsWith(PREFIX) && name !== own);
  if (others.length < MOST_JOBS) return [];
  const byAge = others.toSorted((a, b) => (JSON.parse(a.value) as Kept).at - (JSON.parse(b.value) as Kept).at);
  const over = byAge.slice(0, others.length - MOST_JOBS + 1);
  return over.map(({ name, value }) => ({ name, expected: value, value: null }));
}

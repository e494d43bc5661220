// Records with a job which `requestDefaults` its requests got, so that a run with others does not
// silently return old answers. Kept in a mark of the store for the most recent jobs.

import { createHash } from "node:crypto";
import { valueOfMark } from "../accounts/pauses.ts";
import { DispatchError } from "../contract/errors.ts";
import type { OnChange } from "../contract/jobs.ts";
import type { MarkChange, MarkRow } from "../contract/store/ledger-rows.ts";
import type { Store } from "../contract/store/store.ts";
import type { Json, JsonObject } from "../contract/types.ts";
import { canonicalJson } from "../format/canonical.ts";
import { canonicalSchema } from "../format/canonical-schema.ts";
import { storedMessage } from "../format/stored-code.ts";

const PREFIX = "job defaults ";
/** A bound, because all marks are read together and often. */
const MOST_JOBS = 1_000;
/** Beside the fields of `requestDefaults`; no body has a field of this name. */
const SCHEMA = "schema";
const DIGEST_CHARACTERS = 16;

/** The defaults of one run of a job. */
export interface JobDefaults {
  readonly job: string;
  readonly requestDefaults: JsonObject;
  /** The JSON schema that is sent with its requests. Absent: none. */
  readonly schema?: JsonObject;
  /** Default "refuse". */
  readonly onChange?: OnChange;
}

/** A digest of each field of the defaults. */
type Digests = Readonly<Record<string, string>>;

interface Kept {
  /** When the job last ran. */
  readonly at: number;
  readonly fields: Digests;
}

/**
 * Records the job's `requestDefaults`; the order of keys does not count. `runBatch` calls it before
 * it enqueues; call it at that point in a job of your own.
 *
 * @throws DispatchError DEFAULTS_CHANGED if an earlier run had others and `onChange` is "refuse",
 *   the default. With "keep" the new ones are recorded: requests that are not stored yet get them,
 *   and stored ones stay unchanged.
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
  const { job, requestDefaults, schema, onChange = "refuse" } = given;
  const name = storedMessage(PREFIX + job);
  const fields = digestsOf(
    schema === undefined ? requestDefaults : { ...requestDefaults, [SCHEMA]: canonicalSchema(schema) },
  );
  // An earlier version recorded the schema in its library's own wording.
  const asWorded = schema === undefined ? null : digestOf(schema);
  for (;;) {
    const marks = await store.marks([], now);
    const present = valueOfMark(marks, name);
    const changed = present === null ? [] : changedFields((JSON.parse(present) as Kept).fields, fields, asWorded);
    if (changed.length > 0 && onChange === "refuse" && (await hasRequests(store, job)))
      throw changedError(job, changed);
    const value = JSON.stringify({ at: now, fields } satisfies Kept);
    const changes = [{ name, expected: present, value }, ...oldest(marks, name)];
    // Another process of the job may have been faster.
    if (valueOfMark(await store.marks(changes, now), name) === value) return;
  }
}

/** False if earlier runs were refused before any request was stored. */
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
  return createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, DIGEST_CHARACTERS);
}

/** An earlier version did not record schemas: where there is none, it is not known. */
function changedFields(before: Digests, now: Digests, asWorded: string | null): string[] {
  const fields = new Set([...Object.keys(before), ...Object.keys(now)]);
  if (before[SCHEMA] === undefined || before[SCHEMA] === asWorded) fields.delete(SCHEMA);
  return [...fields].filter((field) => before[field] !== now[field]).sort();
}

function changedError(job: string, fields: readonly string[]): DispatchError {
  const named = fields.map((field) => `\`${field}\``).join(", ");
  const others = fields.includes(SCHEMA) ? "`requestDefaults` or `schema`" : "`requestDefaults`";
  const what = `The job "${job}" was run with other ${others} (${named}), and would give the answers of those`;
  return new DispatchError("DEFAULTS_CHANGED", `${what}: use a new \`job\`, or \`onChange: "keep"\`.`);
}

/** Removes the job that ran longest ago if there would be too many. */
function oldest(marks: readonly MarkRow[], own: string): MarkChange[] {
  const others = marks.filter(({ name }) => name.startsWith(PREFIX) && name !== own);
  if (others.length < MOST_JOBS) return [];
  const byAge = others.toSorted((a, b) => (JSON.parse(a.value) as Kept).at - (JSON.parse(b.value) as Kept).at);
  const over = byAge.slice(0, others.length - MOST_JOBS + 1);
  return over.map(({ name, value }) => ({ name, expected: value, value: null }));
}

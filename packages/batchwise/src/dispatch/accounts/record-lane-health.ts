// Records events of a lane's batches at an account, for all processes: see
// accounts/lane-health.ts. Reports each pause, because waiting requests have no outcome that
// would show it, and batches without a success.

import { isBadHour, type LineTally } from "../batches/collect/bad-hour.ts";
import { DispatchError } from "../contract/errors.ts";
import type { Failure, Operation } from "../contract/failures.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import type { LaneRef, OutcomeError } from "../contract/types.ts";
import { parseLane } from "../format/encode.ts";
import type { Runtime } from "../runtime/runtime.ts";
import {
  afterAcceptance,
  afterBadHour,
  afterFault,
  afterSuccess,
  afterTold,
  capacityPauses,
  formerRows,
  healthMark,
  healthOf,
  healthsOf,
  healthValue,
  type LaneHealth,
  type LanePause,
  type LanePlace,
  type SentBatch,
} from "./lane-health.ts";
import { valueOfMark } from "./pauses.ts";

export function placeOf({ account, lane }: Pick<BatchRow, "account" | "lane">): LanePlace {
  const { endpoint, model } = parseLane(lane);
  return { account, endpoint, model };
}

/**
 * Repeats a compare-and-set until `decide`'s result is written. Returns the health before and
 * after; null if this call changed nothing. `by`: the batch of the call, or "", so that concurrent
 * calls write different texts.
 */
export async function changeHealth(
  runtime: Runtime,
  place: LanePlace,
  by: string,
  decide: (health: LaneHealth) => LaneHealth,
): Promise<{ readonly before: LaneHealth; readonly after: LaneHealth } | null> {
  const name = healthMark(place);
  for (let marks = await runtime.changeMarks([]); ; ) {
    const expected = valueOfMark(marks, name);
    const before = healthOf(healthsOf(marks), place);
    const after = decide(before);
    if (after === before) return null;
    const value = healthValue({ ...after, by });
    const former = formerRows(marks, place).map((row) => ({ name: row.name, expected: row.value, value: null }));
    marks = await runtime.changeMarks([{ name, expected, value }, ...former]);
    if (valueOfMark(marks, name) === value) return { before, after };
  }
}

/**
 * The provider blamed lines of the batch. Called before the batch is changed: after a crash the
 * next owner repeats it, and the batch counts once.
 */
export async function noteFaults(
  runtime: Runtime,
  batch: BatchRow,
  failure: Failure | null,
  operation: Operation,
): Promise<void> {
  const fault = failure?.kind === "invalidRequest" ? failure.lines.find(({ line }) => line >= 1) : undefined;
  if (fault === undefined) return;
  const now = runtime.clock.now();
  const pause = await pausedBy(runtime, batch, (health) => afterFault(health, sent(batch), fault, now));
  if (pause === null) return;
  tellPaused(runtime, batch, pause, pause.refused === 0 ? null : pause.until, operation);
  runtime.troubles.onRefusal();
}

/**
 * The lane's pause after `decide`; null if it is not this batch's. Includes a pause that an earlier
 * owner of the batch wrote but may not have reported.
 */
async function pausedBy(
  runtime: Runtime,
  batch: BatchRow,
  decide: (health: LaneHealth) => LaneHealth,
): Promise<LanePause | null> {
  const place = placeOf(batch);
  const changed = await changeHealth(runtime, place, batch.key, decide);
  const { pause } = changed?.after ?? healthOf(runtime.lastPauses.healths, place);
  return pause?.by === batch.key ? pause : null;
}

function sent({ key, submitStartedAt, createdAt }: BatchRow): SentBatch {
  return { key, sentAt: submitStartedAt ?? createdAt };
}

/** The provider has begun to run the batch. */
export async function noteAcceptance(runtime: Runtime, batch: BatchRow): Promise<void> {
  const changed = await changeHealth(runtime, placeOf(batch), batch.key, (health) =>
    afterAcceptance(health, sent(batch)),
  );
  if (changed !== null && changed.before.pause !== null) runtime.sealing.wake();
}

/**
 * Called before the failures of a batch are settled. Returns true if the provider is to blame; then
 * the lane pauses.
 */
export async function noteBadHour(
  runtime: Runtime,
  batch: BatchRow,
  tally: LineTally,
  words: OutcomeError,
): Promise<boolean> {
  if (!isBadHour(tally, 1)) return false;
  const place = placeOf(batch);
  const before = healthOf((await runtime.readPauses()).healths, place);
  if (!isBadHour(tally, capacityPauses(before))) return false;
  const now = runtime.clock.now();
  const pause = await pausedBy(runtime, batch, (health) => afterBadHour(health, sent(batch), words, now));
  if (pause === null || !(await isUntold(runtime, place, batch.key, words.code))) return true;
  const { code, message } = words;
  const met = `Nearly all requests of batch ${batch.key} for ${named(place)} met "${code}: ${message}".`;
  const then = `The provider is to blame: no try is charged, and the lane waits until ${new Date(pause.until).toISOString()}.`;
  report(runtime, batch, new DispatchError("LANE_PAUSED", `${met} ${then}`));
  return true;
}

/** Some requests of the batch have succeeded. */
export async function noteSuccess(runtime: Runtime, batch: BatchRow): Promise<void> {
  const place = placeOf(batch);
  if (capacityPauses(healthOf(runtime.lastPauses.healths, place)) === 0) return;
  if ((await changeHealth(runtime, place, batch.key, afterSuccess)) !== null) runtime.sealing.wake();
}

/** No request of the batch has succeeded. Reported once per lane and code. */
export async function noteWithoutSuccess(runtime: Runtime, batch: BatchRow, words: OutcomeError): Promise<void> {
  const place = placeOf(batch);
  if (!(await isUntold(runtime, place, batch.key, words.code))) return;
  const { code, message } = words;
  const what = `None of the ${batch.requests} requests of batch ${batch.key} for ${named(place)} has succeeded.`;
  const told = `${what} Most met "${code}: ${message}". Later batches of the lane with this code are not reported for a day.`;
  report(runtime, batch, new DispatchError("BATCH_FAILED", told));
}

async function isUntold(runtime: Runtime, place: LanePlace, batch: string, code: string): Promise<boolean> {
  const now = runtime.clock.now();
  return (await changeHealth(runtime, place, batch, (health) => afterTold(health, code, now))) !== null;
}

function named({ account, endpoint, model }: LanePlace): string {
  return `"${model}" at ${endpoint} of the account "${account}"`;
}

function report(runtime: Runtime, { account, key }: BatchRow, error: DispatchError): void {
  runtime.report(error, { account, batch: key, operation: "results" });
}

/** An operator resumes the lane at all of its accounts. Returns true if it was paused at one. */
export async function lanePausesLifted(runtime: Runtime, { endpoint, model }: LaneRef): Promise<boolean> {
  const { healths } = await runtime.readPauses();
  const own = [...healths.values()].filter((health) => health.endpoint === endpoint && health.model === model);
  let isLifted = false;
  for (const place of own) {
    const changed = await changeHealth(runtime, place, "", (health) =>
      health.pause === null ? health : { ...health, faults: null, pause: null },
    );
    isLifted ||= changed !== null;
  }
  if (isLifted) runtime.sealing.wake();
  return isLifted;
}

function tellPaused(
  runtime: Runtime,
  { key, account, lane }: BatchRow,
  { code, message }: OutcomeError,
  until: number | null,
  operation: Operation,
): void {
  const refused = `The provider refuses requests for ${named(placeOf({ account, lane }))}: "${code}: ${message}".`;
  const first = "The others wait, and one of them is sent alone.";
  const next = `One that was sent alone was refused, too. The others wait until ${new Date(until ?? 0).toISOString()}.`;
  const ways =
    "To correct them, cancel them and enqueue others (in `runBatch`, under a new `job`); to try again now, call `resumeLane`.";
  const told = new DispatchError("LANE_PAUSED", `${refused} ${until === null ? first : next} ${ways}`);
  runtime.report(told, { account, batch: key, operation });
}

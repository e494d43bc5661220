// Writes what batches of a lane have met at an account, for all processes: see decide/sealing/lane-health.ts. Tells the
// user of each pause: what waits has no outcome, so nothing else would show it.

import type { Failure, Operation } from "../contract/account.ts";
import { DispatchError } from "../contract/errors.ts";
import type { BatchRow } from "../contract/rows.ts";
import type { LaneRef, OutcomeError } from "../contract/types.ts";
import {
  afterAcceptance,
  afterFault,
  healthMark,
  healthOf,
  healthsOf,
  healthValue,
  type LaneHealth,
  type LanePlace,
  type SentBatch,
} from "../decide/sealing/lane-health.ts";
import { parseLane } from "../format/encode.ts";
import type { Runtime } from "../runtime/runtime.ts";

export function placeOf({ account, lane }: Pick<BatchRow, "account" | "lane">): LanePlace {
  const { endpoint, model } = parseLane(lane);
  return { account, endpoint, model };
}

/** Compare-and-set until `decide` has its way. The health before and after; null where this call changed nothing. */
export async function changeHealth(
  runtime: Runtime,
  place: LanePlace,
  decide: (health: LaneHealth) => LaneHealth,
): Promise<{ readonly before: LaneHealth; readonly after: LaneHealth } | null> {
  const name = healthMark(place);
  for (let marks = await runtime.changeMarks([]); ; ) {
    const expected = marks.find((mark) => mark.name === name)?.value ?? null;
    const before = healthOf(healthsOf(marks), place);
    const after = decide(before);
    if (after === before) return null;
    const value = healthValue(after);
    marks = await runtime.changeMarks([{ name, expected, value }]);
    if ((marks.find((mark) => mark.name === name)?.value ?? null) === value) return { before, after };
  }
}

/**
 * The provider blamed lines of the batch. Called before the batch is changed: a process that dies in between leaves it to
 * the next one, and the batch counts once.
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
  const changed = await changeHealth(runtime, placeOf(batch), (health) => afterFault(health, sent(batch), fault, now));
  const pause = changed?.after.pause ?? null;
  if (pause !== null) tellPaused(runtime, batch, pause, pause.refused === 0 ? null : pause.until, operation);
}

function sent({ key, submitStartedAt, createdAt }: BatchRow): SentBatch {
  return { key, sentAt: submitStartedAt ?? createdAt };
}

/** The provider has taken the batch to work. */
export async function noteAcceptance(runtime: Runtime, batch: BatchRow): Promise<void> {
  const changed = await changeHealth(runtime, placeOf(batch), (health) => afterAcceptance(health, sent(batch)));
  if (changed !== null && changed.before.pause !== null) runtime.sealing.wake();
}

/** An operator lets the lane go on at all of its accounts. True where it was paused at one. */
export async function lanePausesLifted(runtime: Runtime, { endpoint, model }: LaneRef): Promise<boolean> {
  const { healths } = await runtime.readPauses();
  const own = [...healths.values()].filter((health) => health.endpoint === endpoint && health.model === model);
  let isLifted = false;
  for (const place of own) {
    const changed = await changeHealth(runtime, place, (health) =>
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
  const { endpoint, model } = parseLane(lane);
  const refused = `The provider refuses requests for "${model}" at ${endpoint} of the account "${account}", with "${code}: ${message}".`;
  const first = "The lane pauses, and one of the requests that wait is sent alone.";
  const next = `So was one that was sent alone: the lane pauses until ${new Date(until ?? 0).toISOString()}.`;
  const ways = "resumeLane sends them at once; cancel and retry correct them.";
  const told = new DispatchError("LANE_PAUSED", `${refused} ${until === null ? first : next} ${ways}`);
  runtime.report(told, { account, batch: key, operation });
}

// Pauses and resumes accounts and lanes for all processes of the store. The store keeps the pause,
// so a restart changes nothing. Sent batches are still polled and collected.

import { invalidOption } from "../../core/contract/validate.ts";
import { accountMark, laneMark } from "../accounts/pauses.ts";
import { serves } from "../accounts/rank-accounts.ts";
import { lanePausesLifted } from "../accounts/record-lane-health.ts";
import { DispatchError } from "../contract/errors.ts";
import type { LaneRef, PauseRecord } from "../contract/types.ts";
import { ulid } from "../format/encode.ts";
import { storedMessage } from "../format/stored-code.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** True if this call has paused it; false if it was paused before, and stays unchanged. */
export async function pauseAccount(runtime: Runtime, name: string, reason: string | null): Promise<boolean> {
  if (!runtime.options.accounts.has(name)) throw unknownAccount(runtime, name);
  return pause(runtime, accountMark(name), reason);
}

/** False if it was not paused. A paused account may no longer be in the options. */
export async function resumeAccount(runtime: Runtime, name: string): Promise<boolean> {
  const isResumed = await resume(runtime, accountMark(name));
  if (!isResumed && !runtime.options.accounts.has(name)) throw unknownAccount(runtime, name);
  return isResumed;
}

export async function pauseLane(runtime: Runtime, lane: LaneRef, reason: string | null): Promise<boolean> {
  if (!runtime.accounts.some((account) => serves(account, lane))) {
    const message = `No account here serves the model "${lane.model}" at ${lane.endpoint}: there is no such lane to pause.`;
    throw new DispatchError("NO_ACCOUNT", message);
  }
  return pause(runtime, laneMark(lane), reason);
}

/** Ends pauses by operators and those for bad lines. */
export async function resumeLane(runtime: Runtime, lane: LaneRef): Promise<boolean> {
  const isResumed = await resume(runtime, laneMark(lane));
  return (await lanePausesLifted(runtime, lane)) || isResumed;
}

/** The text of a pause's mark. `by` makes concurrent calls write different texts. */
interface Pause extends PauseRecord {
  readonly by?: string;
}

async function pause(runtime: Runtime, mark: string, given: string | null): Promise<boolean> {
  const now = runtime.clock.now();
  const reason = given === null ? null : storedMessage(given);
  const paused: Pause = { since: now, reason, by: caller(runtime.options, now) };
  return runtime.setMark(mark, null, JSON.stringify(paused));
}

/** First marks the pause as its own, so that only one of several concurrent calls ends it. */
async function resume(runtime: Runtime, mark: string): Promise<boolean> {
  for (;;) {
    const present = await runtime.readMark(mark);
    if (present === null) return false;
    const own: Pause = { ...(JSON.parse(present) as Pause), by: caller(runtime.options, runtime.clock.now()) };
    const value = JSON.stringify(own);
    if (!(await runtime.setMark(mark, present, value))) continue;
    await runtime.setMark(mark, value, null);
    runtime.sealing.wake();
    return true;
  }
}

function caller({ owner, random }: Runtime["options"], now: number): string {
  return `${owner} ${ulid(now, random)}`;
}

function unknownAccount({ accounts }: Runtime, name: string): Error {
  const known = accounts.map((account) => `"${account.name}"`).join(", ");
  return invalidOption(RangeError, `There is no account "${name}" here. The accounts are ${known}.`);
}

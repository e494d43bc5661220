// Pauses accounts and lanes for all processes of the store, and lets them go on. The store keeps it: a restart changes
// nothing. What has been sent is polled and collected meanwhile.

import { invalidOption } from "../../core/contract/validate.ts";
import { DispatchError } from "../contract/errors.ts";
import type { LaneRef } from "../contract/types.ts";
import { accountMark, laneMark } from "../decide/pauses.ts";
import { serves } from "../decide/rank-accounts.ts";
import { storedMessage } from "../format/stored-code.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** True when this call has paused it; false when it was paused before, which stays as it is. */
export async function pauseAccount(runtime: Runtime, name: string, reason: string | null): Promise<boolean> {
  if (!runtime.options.accounts.has(name)) throw unknownAccount(runtime, name);
  return pause(runtime, accountMark(name), reason);
}

/** False when it was not paused. One that is paused may be gone from the options. */
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

export function resumeLane(runtime: Runtime, lane: LaneRef): Promise<boolean> {
  return resume(runtime, laneMark(lane));
}

async function pause({ store, clock }: Runtime, mark: string, reason: string | null): Promise<boolean> {
  const now = clock.now();
  const value = JSON.stringify({ since: now, reason: reason === null ? null : storedMessage(reason) });
  const marks = await store.marks([{ name: mark, expected: null, value }], now);
  return marks.some((row) => row.name === mark && row.value === value);
}

async function resume({ store, clock, sealing }: Runtime, mark: string): Promise<boolean> {
  const now = clock.now();
  const present = (await store.marks([], now)).find(({ name }) => name === mark);
  if (present === undefined) return false;
  await store.marks([{ name: mark, expected: present.value, value: null }], now);
  sealing.wake();
  return true;
}

function unknownAccount({ accounts }: Runtime, name: string): Error {
  const known = accounts.map((account) => `"${account.name}"`).join(", ");
  return invalidOption(RangeError, `There is no account "${name}" here. The accounts are ${known}.`);
}

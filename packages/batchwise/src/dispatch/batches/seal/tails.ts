// Handles tails, requests that are fewer than any account accepts in a batch: reports them, and
// lets them wait or fail, as `onTail` says. Reports a lane once, and again each day while it waits.

import { DispatchError, OUTCOME_CODES } from "../../contract/errors.ts";
import type { LaneRow } from "../../contract/store/probe.ts";
import { parseLane } from "../../format/encode.ts";
import { errorEnding } from "../../format/payload.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Tail } from "./tail.ts";

/** Reports a waiting tail. */
export function tellTail(runtime: Runtime, lane: LaneRow, tail: Tail): void {
  const missing = tail.minRequests - lane.ready;
  const doFail = runtime.options.onTail === "fail" && missing > 0;
  const more = missing > 0 ? `enqueue ${missing} more` : "raise the thresholds or limits that keep batches smaller";
  const ways = `${more}, add an account that takes fewer, or cancel them${doFail ? "" : '; onTail: "fail" ends such'}`;
  const message = `${what(lane, tail)}: they ${doFail ? "fail" : "wait"}. Ways out: ${ways}.`;
  runtime.reportOnce(nameOf(lane.lane), new DispatchError("BELOW_MINIMUM", message), { operation: "seal" });
}

/** Call when the lane has a batch again: its next tail is reported again. */
export function forgetTail(runtime: Runtime, lane: string): void {
  runtime.forgetReported(nameOf(lane));
}

function nameOf(lane: string): string {
  return `tail ${lane}`;
}

/** Fails one request of the tail. */
export async function failOfTail(runtime: Runtime, id: string, lane: LaneRow, tail: Tail): Promise<void> {
  const failure = errorEnding({ code: OUTCOME_CODES.belowMinimum, message: `${what(lane, tail)}.` });
  await runtime.store.amend({ kind: "fail", ids: [id], ...failure }, runtime.sinks, runtime.clock.now());
  runtime.outcomesRecorded();
}

function what({ lane, ready }: LaneRow, { account, minRequests }: Tail): string {
  const { endpoint, model } = parseLane(lane);
  const requests = `${ready} ${ready === 1 ? "request" : "requests"} for the model "${model}" at ${endpoint}`;
  return `${requests} cannot be sent: "${account}" takes at least ${minRequests} in a batch, and no account takes fewer`;
}

// The lanes in which a job still has work.

import type { Runtime } from "../runtime/runtime.ts";

/** Lanes with requests of the job that have no outcome. */
export async function openLanes({ store }: Runtime, job: string): Promise<ReadonlySet<string>> {
  const lanes = new Set<string>();
  for (const { lane, requests, ended } of await store.usage({ job })) {
    if (requests > ended.succeeded + ended.failed + ended.cancelled + ended.expired) lanes.add(lane);
  }
  return lanes;
}

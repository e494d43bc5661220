// The lanes in which a job still has work.

import { homeLane, openIn } from "../format/open-requests.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** Lanes with requests of the job that have no outcome, each as `homeLane` names it. */
export async function openLanes({ store }: Runtime, job: string): Promise<ReadonlySet<string>> {
  const open = new Map<string, number>();
  for (const row of await store.usage({ job })) {
    const lane = homeLane(row.lane);
    open.set(lane, (open.get(lane) ?? 0) + openIn(row));
  }
  return new Set([...open].flatMap(([lane, requests]) => (requests > 0 ? [lane] : [])));
}

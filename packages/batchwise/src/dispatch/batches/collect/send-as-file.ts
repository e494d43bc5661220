// Handles results of an inline create that name no requests, so that they match none. The account
// sends files from then on, whose results name theirs, and the requests are sent again that way,
// uncharged.

import { filesOnlyMark } from "../../accounts/pauses.ts";
import { DispatchError, type UnnamedResults } from "../../contract/errors.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { takeApart } from "../apply-plan.ts";

/** Keeps the lease: the next step returns the members to their lane. */
export async function sendAsFile(runtime: Runtime, lease: Lease, { message }: UnnamedResults): Promise<void> {
  const { account, batch } = lease;
  await runtime.setMark(filesOnlyMark(account.name), null, String(runtime.clock.now()));
  const then = `The account "${account.name}" sends files from now on, and the ${batch.remaining} requests go again that way.`;
  runtime.report(new DispatchError("RESULTS_UNREADABLE", `${message} ${then}`), lease.context("results"));
  await takeApart(lease, { kind: "requeue", code: "results_without_names" });
}

// Applies the decision of batches/submit/before-submit.ts on whether a batch may be sent now.
// Pauses never stop batches that have been sent.

import { outageChange } from "../../accounts/pause-changes.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { takeApart } from "../apply-plan.ts";
import { beforeSubmit, isHeld } from "./before-submit.ts";
import { mayChangeAccount } from "./competing-batches.ts";
import { lookAgainAt } from "./move-urgent.ts";

/** True while an operator has paused the batch's account or lane. */
export async function isPaused(runtime: Runtime, { batch }: Lease): Promise<boolean> {
  return isHeld(await runtime.readPauses(), batch);
}

/**
 * True if the batch may be sent. Otherwise the lease has ended, or the batch's requests are to
 * leave it.
 */
export async function passesGate(runtime: Runtime, lease: Lease): Promise<boolean> {
  const { account, batch } = lease;
  // A pause that is disproved here ends in the store first: another process may have replaced it.
  if (runtime.troubles.pauseEnds.length > 0) await lease.write({});
  const pauses = await runtime.readPauses();
  const ledgers = await runtime.ledgers();
  const gate = beforeSubmit({
    batch,
    pauses,
    ledger: ledgers.get(account.name),
    hasToken: account.capabilities.tag === "idempotencyToken",
    mayMove: () => mayChangeAccount(runtime, batch, ledgers),
    now: runtime.clock.now(),
  });
  switch (gate.kind) {
    case "open":
    case "canary": {
      if (gate.outage !== null) {
        const result = await lease.write({ ledgers: [outageChange(ledgers, account.name, gate.outage)] });
        // Another process has paused the account since.
        if (result.ok && result.written.includes(false)) return passesGate(runtime, lease);
      }
      if (gate.kind === "open") return true;
      // If this process ends here, the batch waits for the end of the outage's hold.
      await takeApart(lease, { kind: "canary", error: gate.error });
      return false;
    }
    case "wait": {
      const nextAt = gate.by === "account" ? lookAgainAt(runtime, lease, gate.until) : gate.until;
      await lease.end({ nextAt, ...(gate.isUnmade ? { state: "sealed", unknownSince: null } : {}) });
      return false;
    }
    case "requeue":
      await takeApart(lease, { kind: "requeue", code: gate.code });
      return false;
  }
}

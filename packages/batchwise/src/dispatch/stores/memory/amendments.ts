// Changes of requests from outside their batch: `amend` of the store.

import type { Amended, Amendment } from "../../contract/store/calls.ts";
import { withDigest } from "../../contract/store/digests.ts";
import type { Correction } from "../../contract/store/rows.ts";
import type { Batches } from "./batches.ts";
import type { Ending, OutcomeLog } from "./outcome-log.ts";
import type { MemoryRequest } from "./records.ts";
import { earliestFirst, type Waiting } from "./waiting.ts";

export class Amendments {
  readonly #requests: ReadonlyMap<string, MemoryRequest>;
  readonly #waiting: Waiting;
  readonly #batches: Batches;
  readonly #log: OutcomeLog;

  constructor(requests: ReadonlyMap<string, MemoryRequest>, waiting: Waiting, batches: Batches, log: OutcomeLog) {
    this.#requests = requests;
    this.#waiting = waiting;
    this.#batches = batches;
    this.#log = log;
  }

  amend(change: Amendment, sinks: readonly string[], now: number): Amended[] {
    if (change.kind === "expire") return this.#expire(change, sinks, now);
    if (change.kind === "move") return this.#waiting.move(change);
    if (change.kind === "hasten") return this.#hasten(change.after, now);
    if (change.kind === "redeliver") return this.#log.redeliver(change, now);
    return change.ids.map((id, index) => {
      const request = this.#requests.get(id);
      if (request === undefined) return { id, result: "not_found" };
      if (change.kind === "retry") {
        const lane = change.lanes[index] as string;
        return { id, result: this.#retry(request, lane, change.corrections?.[index], now) };
      }
      return { id, result: this.#takeOut(request, change, sinks, now) };
    });
  }

  #expire(change: Extract<Amendment, { kind: "expire" }>, sinks: readonly string[], now: number): Amended[] {
    const late = [...this.#waiting.all()].filter(({ deadlineAt }) => deadlineAt !== null && deadlineAt <= now);
    return earliestFirst(late, change.limit).map((request) => {
      this.#waiting.remove(request);
      this.#log.end(request, { status: "expired", ...waiting(change, sinks, now) });
      return { id: request.id, result: "changed" };
    });
  }

  #hasten(after: number, now: number): [] {
    this.#waiting.hasten(after, now);
    this.#batches.hasten(after, now);
    this.#log.hasten(after, now);
    return [];
  }

  #takeOut(
    request: MemoryRequest,
    change: Extract<Amendment, { kind: "cancel" | "fail" }>,
    sinks: readonly string[],
    now: number,
  ): Amended["result"] {
    if (request.state === "ended") return "ended";
    if (request.state === "claimed") return change.kind === "cancel" ? this.#wantOut(request) : "waiting";
    this.#waiting.remove(request);
    const status = change.kind === "cancel" ? "cancelled" : "failed";
    this.#log.end(request, { status, ...waiting(change, sinks, now) });
    return "changed";
  }

  #retry(request: MemoryRequest, lane: string, correction: Correction | undefined, now: number): Amended["result"] {
    if (request.outcome === null) return "waiting";
    const { status, code, batchKey, recordedAt } = request.outcome;
    if (status === "succeeded") return "ended";
    this.#log.takeBack(request.outcome);
    if (correction === undefined) this.#batches.leave(batchKey ?? "");
    else {
      const digest = withDigest(request.digest, correction.digest);
      request.history.push({ batchKey, code: code ?? status, at: recordedAt });
      Object.assign(request, { price: 0, ...correction, digest, turns: null });
    }
    Object.assign(request, { attempts: 0, generation: request.generation + 1, deadlineAt: null, outcome: null });
    this.#waiting.addAgain(request, lane, now);
    this.#log.usage.requested(request);
    return "changed";
  }

  #wantOut(request: MemoryRequest): "requested" {
    const batch = this.#batches.get(request.batchKey ?? "");
    if (batch !== undefined && !request.cancelRequested) batch.cancelRequested += 1;
    request.cancelRequested = true;
    return "requested";
  }
}

/** The ending of a waiting request. */
function waiting(
  { payload, code }: { readonly payload: string; readonly code: string },
  sinks: readonly string[],
  now: number,
): Omit<Ending, "status"> {
  return { payload, code, usage: null, batchKey: null, sinks, now };
}

// An account that runs lines itself, one after the other, in virtual time. The test decides when
// its server is down.

import type { Account, ProviderBatch, ResultLine } from "../../../../src/dispatch/contract/account.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { parseLine, resultOf } from "./sim-lines.ts";
import { type Execution, SIM_LIMITS, SimError, SimProvider, type SimTime } from "./sim-provider.ts";

export interface SimRunnerOptions {
  readonly time: SimTime;
  readonly lineMs: () => number;
  /** Called before each line; rejects the pass unless it returns null. */
  readonly refusal?: () => Failure | null;
  readonly statusOf?: (identity: string, run: number) => number;
}

export class SimRunner {
  readonly #options: SimRunnerOptions;
  readonly #runs: Map<string, number> = new Map();
  readonly executions: Execution[] = [];

  constructor(options: SimRunnerOptions) {
    this.#options = options;
  }

  account(more: Partial<Account> = {}): Account {
    const provider = new SimProvider({ time: this.#options.time });
    const local = {
      tag: "idempotencyToken",
      maxInlineBytes: Number.POSITIVE_INFINITY,
      ledgerScope: "account",
      completionWindowMs: 0,
      fallback: true,
      limits: { ...SIM_LIMITS, maxEnqueuedBatches: 4 },
    } as const;
    return provider.account(local, {
      name: "runner",
      create: async ({ key, attempt }) => running(`${key}-${attempt}`),
      retrieve: async (id) => running(id),
      cancel: async (id) => running(id),
      list: async () => ({ batches: [], next: null }),
      execute: (lines, { signal }, { key }) => this.#execute(lines, signal, key),
      ...more,
    });
  }

  async *#execute(lines: AsyncIterable<string>, signal: AbortSignal, key: string): AsyncGenerator<ResultLine> {
    const { time, lineMs, refusal, statusOf = () => 200 } = this.#options;
    for await (const text of lines) {
      const failure = refusal?.() ?? null;
      if (failure !== null) throw new SimError(failure);
      const { customId, identity } = parseLine(text);
      const run = (this.#runs.get(identity) ?? 0) + 1;
      this.#runs.set(identity, run);
      const status = statusOf(identity, run);
      this.executions.push({ identity, batchId: key, key, status, sentAt: time.now() });
      await new Promise<void>((resolve) => {
        time.setTimeout(resolve, lineMs());
      });
      if (signal.aborted) return;
      if (status >= 0) yield resultOf(customId, identity, status);
    }
  }
}

function running(id: string): ProviderBatch {
  return {
    ...{ id, state: "running", rawState: "running", createdAt: 0, expiresAt: null, tag: null, inputFileId: null },
    ...{ total: null, settled: null, resultRefs: [], failure: null },
  };
}

// What other batches say about the refusal of one half of a batch that was divided.

import { describe, expect, test } from "vitest";
import { evidenceOn } from "../../../../src/dispatch/batches/submit/competing-batches.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import type { BatchRow, HistoryRow, RequestRow } from "../../../../src/dispatch/contract/store/rows.ts";
import { resolveOptions } from "../../../../src/dispatch/options/resolve-options.ts";
import { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { virtualClock } from "../../../../src/testing/index.ts";
import { batchRow } from "../../support/rows.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { START } from "../../support/world.ts";

const MINUTE = 60_000;
const refused: Failure = { kind: "invalidRequest", code: "bad", message: "Bad.", lines: [] };

/**
 * The whole is divided at +1 min, another batch of the lane is taken at +2 and the half is refused
 * at +3.
 */
async function taken(whole: Partial<BatchRow>, history: readonly HistoryRow[]): Promise<boolean> {
  const clock = virtualClock(START + 3 * MINUTE);
  const account = new SimProvider({ time: clock }).account();
  const of = { account: account.name, ledger: account.name };
  const divided = batchRow({ key: "WHOLE", ...of, state: "done", splitAt: START + MINUTE, ...whole });
  const half = batchRow({
    ...{ key: "HALF", ...of, lane: "/v1/chat/completions WHOLE.a gpt-4o-mini" },
    submitStartedAt: START + 3 * MINUTE,
  });
  const other = batchRow({
    ...{ key: "OTHER", ...of, state: "running", providerBatchId: "p", submitStartedAt: START + 2 * MINUTE },
  });
  const store = Object.assign(memoryStore(), {
    batches: async ({ keys }: { keys?: readonly string[] }) =>
      keys === undefined ? [other, half, divided] : [divided],
    requests: async () => [{ history } as RequestRow],
  });
  const runtime = new Runtime(resolveOptions({ store, accounts: [account], clock }));
  return (await evidenceOn(runtime, half, refused, new Map())).laneTakesOthers;
}

const row = (batchKey: string, code: string): HistoryRow => ({ batchKey, code, at: START + MINUTE });

describe("a half whose whole was refused for the same code, and another batch was taken since then", () => {
  test("is to blame, by the history of its requests", async () => {
    expect(await taken({}, [row("EARLIER", "slow"), row("WHOLE", "bad")])).toBe(true);
  });

  test.each<[string, Partial<BatchRow>, HistoryRow]>([
    ["its whole was refused for another code", {}, row("WHOLE", "other")],
    ["an earlier batch was refused for it", {}, row("EARLIER", "bad")],
    ["its whole was not divided", { splitAt: null }, row("WHOLE", "bad")],
    ["another account refused its whole", { account: "another" }, row("WHOLE", "bad")],
  ])("is not to blame if %s", async (_name, whole, history) => {
    expect(await taken(whole, [history])).toBe(false);
  });

  test("is judged without the texts of its whole: its disposal and its last error", async () => {
    const same = JSON.stringify({ kind: "split", error: { code: "bad", message: "" } });
    const other = JSON.stringify({ kind: "split", error: { code: "other", message: "" } });
    expect(await taken({ disposal: other }, [row("WHOLE", "bad")])).toBe(true);
    expect(await taken({ disposal: same, lastError: same }, [row("WHOLE", "other")])).toBe(false);
  });
});

// A dispatcher built the usual way, for comparison: it pops a batch from the queue, creates it,
// then saves its id. Otherwise it is careful: it puts back unsent requests, retries failed lines,
// retries calls like the official clients, and stores queue, ids and outcomes durably.

import type { Account, BatchName, ProviderBatch } from "../../../src/dispatch/contract/account.ts";
import { hasEnded } from "../../../src/dispatch/contract/account.ts";
import { openaiLine } from "../../../src/dispatch/format/encode.ts";
import type { Clock } from "../../../src/index.ts";

/** What survives a crash. */
export interface UsualPlace {
  readonly queue: string[];
  readonly batches: Map<string, readonly string[]>;
  readonly outcomes: Map<string, number>;
}

const NAME: BatchName = { key: "usual", attempt: 1, endpoint: "/v1/chat/completions", model: "m" };
const TICK_MS = 30_000;
const MOST = 12;
const LONGEST_WAIT_MS = 5 * 60_000;
const CLIENT_RETRIES = 2;

export function startUsualDispatcher(place: UsualPlace, account: Account, clock: Clock): void {
  let lastBatchAt = clock.now();
  const tick = async (): Promise<void> => {
    try {
      await collectAll(place, account);
      while (place.queue.length >= MOST || (place.queue.length > 0 && clock.now() - lastBatchAt >= LONGEST_WAIT_MS)) {
        lastBatchAt = clock.now();
        await sendOne(place, account);
      }
    } catch {
      // The next tick goes on.
    }
    clock.setTimeout(tick, TICK_MS);
  };
  clock.setTimeout(tick, TICK_MS);
}

async function sendOne(place: UsualPlace, account: Account): Promise<void> {
  const names = place.queue.splice(0, MOST);
  try {
    const lines = names.map((customId) =>
      openaiLine({ customId, endpoint: "/v1/chat/completions", body: body(customId) }),
    );
    const input = { fileName: "batch.jsonl", requests: names.length, bytes: 0, lines: () => each(lines) };
    const call = { signal: new AbortController().signal, timeoutMs: 60_000 };
    const file = await retried(async () => (await account.upload?.(input, call)) ?? { fileId: "" });
    const firstBody = async (): Promise<string> => body(names[0] ?? "");
    const batch = await retried(() => account.create({ ...NAME, input: file, firstBody }, call));
    place.batches.set(batch.id, names);
  } catch (error) {
    place.queue.unshift(...names);
    throw error;
  }
}

async function collectAll(place: UsualPlace, account: Account): Promise<void> {
  const call = { signal: new AbortController().signal, timeoutMs: 60_000 };
  for (const [id, names] of [...place.batches]) {
    const batch: ProviderBatch | null = await retried(() => account.retrieve(id, call));
    if (batch === null || !hasEnded(batch)) continue;
    const open = new Set(names);
    for await (const { customId, response } of account.results(batch, call, NAME)) {
      if (response?.statusCode !== 200) continue;
      place.outcomes.set(customId, (place.outcomes.get(customId) ?? 0) + 1);
      open.delete(customId);
    }
    place.queue.push(...open);
    place.batches.delete(id);
  }
}

async function retried<T>(call: () => Promise<T>): Promise<T> {
  for (let left = CLIENT_RETRIES; ; left -= 1) {
    try {
      return await call();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

function body(content: string): string {
  return JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
}

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

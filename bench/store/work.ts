/** The parts of the store measures: requests of 2 KB, results of 500 bytes, and a timer. */
import { randomUUID } from "node:crypto";
import type { DispatchRequest, NewRequest, SealInput, Settlement, Store } from "batchwise/dispatch";

export const BODY_BYTES = 2_048;
export const BATCH = 50_000;
export const CHUNK = 1_000;
const CALLERS = 256;
/** Length of the ids that the dispatcher makes. */
const ID_LENGTH = 26;
export const NOW = 1_700_000_000_000;
export const LANE = "/v1/chat/completions  gpt-4o-mini";

/**
 * Number of done requests among which is sealed, and of requests that pass through, unless the call
 * sets it.
 */
export const MANY_DONE = 10_000_000;
export const PASSING = 1_000_000;
/** The same on a server: four batches. */
export const PASSED = 200_000;

const DIGEST_LENGTH = 27;
const frame = { model: "gpt-4o-mini", messages: [{ role: "user", content: "" }] };
/** Random words: Postgres compresses a repeated word 6 to 1, which would make it too fast. */
function drawn(bytes: number): string {
  const words = Array.from({ length: Math.ceil(bytes / 7) }, () => Math.random().toString(36).slice(2, 8));
  return words.join(" ").slice(0, bytes);
}

/** Each is long enough that no database detects the repetition. */
const TEXTS = 500;
const contents: readonly string[] = Array.from({ length: TEXTS }, () =>
  drawn(BODY_BYTES - JSON.stringify(frame).length),
);
const bodies: readonly string[] = contents.map((content) =>
  JSON.stringify({ ...frame, messages: [{ role: "user", content }] }),
);
/** A provider's completion of about 500 bytes. */
export const completion = {
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: drawn(340) }, finish_reason: "stop" }],
  usage: { prompt_tokens: 500, completion_tokens: 80, total_tokens: 580 },
};
/** The same as a store keeps it. */
export const payload: string = JSON.stringify({ response: { statusCode: 200, body: { text: drawn(440) } } });

/**
 * Requests as the dispatcher passes them to the store, with random ids: the hardest case for the
 * index of ids.
 */
export function requests(count: number): NewRequest[] {
  return Array.from({ length: count }, (_, n) => ({
    ...{
      id: randomUUID(),
      digest: "d".repeat(DIGEST_LENGTH),
      lane: LANE,
      priority: 0,
      tenant: "",
      job: "",
      deadlineAt: null,
    },
    ...{ bytes: BODY_BYTES + 120, tokens: 500, metadata: null, body: bodies[n % TEXTS] ?? "" },
  }));
}

/** The same as a user enqueues them. */
export function dispatchRequests(count: number): DispatchRequest[] {
  return Array.from({ length: count }, () => dispatchRequest(randomUUID()));
}

export function dispatchRequest(id: string): DispatchRequest {
  const content = contents[Math.floor(Math.random() * TEXTS)] ?? "";
  return { id, body: { ...frame, messages: [{ role: "user", content }] } };
}

export function sealInput(key: string): SealInput {
  return {
    ...{ key, lane: LANE, account: "openai", ledger: "openai", owner: "bench", leaseUntil: NOW + 90_000, now: NOW },
    limits: { tokens: Number.POSITIVE_INFINITY, requests: Number.POSITIVE_INFINITY, batches: Number.POSITIVE_INFINITY },
    ...{ maxRequests: BATCH, maxBytes: 200_000_000, maxTokens: Number.POSITIVE_INFINITY },
    ...{ minRequests: 1, avoidCounts: [] },
  };
}

/** Ends all members of a batch, in chunks and in another order. */
export async function settleAll(store: Store, key: string, count: number): Promise<void> {
  const chunks = Math.ceil(count / CHUNK);
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const items: Settlement[] = [];
    for (let ord = chunk; ord < count; ord += chunks) {
      items.push({ ord, kind: "final", status: "succeeded", payload, code: null, usage: null, charged: true });
    }
    await store.settle({ key, fence: 1, items, sinks: [], cancelledPayload: "{}", cancelledCode: "c", now: NOW });
  }
}

export async function enqueueAll(store: Store, count: number): Promise<void> {
  for (let done = 0; done < count; done += CHUNK) await store.enqueue(requests(Math.min(CHUNK, count - done)), NOW);
}

/**
 * Runs callers that each take one of the rest, wait until it is done, and take the next. Returns
 * the seconds until none is left.
 */
export function byCallers<Item>(items: Item[], one: (item: Item) => Promise<unknown>): Promise<number> {
  const caller = async (): Promise<void> => {
    for (let next = items.pop(); next !== undefined; next = items.pop()) await one(next);
  };
  return seconds(async () => {
    await Promise.all(Array.from({ length: CALLERS }, caller));
  });
}

/**
 * A thousand requests per call, in random order of their ids, or in the order of the dispatcher's
 * ids.
 */
export function callsOf(count: number, ids: "random" | "ordered" = "random"): NewRequest[][] {
  const calls = Array.from({ length: count / CHUNK }, () => requests(CHUNK));
  if (ids === "random") return calls;
  const id = (n: number): string => String(n).padStart(ID_LENGTH, "0");
  return calls.map((call, index) => call.map((one, n) => ({ ...one, id: id(index * CHUNK + n) })));
}

export async function seconds(work: () => Promise<void> | void): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}

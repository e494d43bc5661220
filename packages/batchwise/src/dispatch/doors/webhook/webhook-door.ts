// Takes signed events of providers. An event that names one of our batches brings its next poll
// forward. The event itself is not trusted: the poll reads the batch from the provider.

import { POLLED, pollNow } from "../../operate/poll-now.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isRecent, keysOf, signedId } from "./event-signature.ts";
import { isSignedToken, type TokenRules, tokenIn } from "./event-token.ts";
import { KeySet, KeysUnavailable } from "./key-set.ts";
import type { ProviderWebhookPlan } from "./provider-webhook-options.ts";

const MOST_BYTES = 65_536;
const MOST_SEEN = 1_000;
/** Maximum batches read for one event. */
const MOST_NAMED = 100;
/** Google's batch names begin with this folder; its events may leave it out. */
const FOLDER = "batches/";

export class WebhookDoor {
  readonly #runtime: Runtime;
  readonly #keys: readonly Buffer[];
  /** Ids of handled events, oldest first. Handling a dropped id again does no harm. */
  readonly #seen = new Set<string>();

  readonly #token: TokenRules | null;
  /** Runs due work; null if other loops do. */
  readonly #run: (() => Promise<unknown>) | null;

  constructor(
    runtime: Runtime,
    { secrets, keySet, audience }: ProviderWebhookPlan,
    run: (() => Promise<unknown>) | null,
  ) {
    this.#runtime = runtime;
    this.#keys = keysOf(secrets);
    this.#token = keySet === null ? null : { keySet: new KeySet(keySet, runtime.clock), audience };
    this.#run = run;
  }

  readonly handle = async (request: Request): Promise<Response> => {
    if (request.method !== "POST") return answer(405, { allow: "POST" });
    const body = await textOf(request);
    if (body === null) return answer(413);
    try {
      const id = await this.#signedId(request.headers, body);
      if (id === null) return answer(401);
      const batch = batchIn(body);
      if (batch === null || this.#seen.has(id)) return answer(204);
      await this.#look(batch);
      this.#remember(id);
      return answer(204);
    } catch (error) {
      // Report only: the provider sends the event again.
      this.#runtime.reportShared(error, { operation: error instanceof KeysUnavailable ? "event" : "work" });
      return answer(503);
    }
  };

  /** The event's id if it is signed; else null. */
  async #signedId(headers: Headers, body: string): Promise<string | null> {
    // The wall clock: the platform may have stopped the monotonic one since the last event.
    const now = this.#runtime.options.clock.now();
    const token = tokenIn(headers.get("webhook-signature") ?? "");
    if (token === null) return signedId(headers, body, this.#keys, now);
    if (this.#token === null || !isTimely(headers, now)) return null;
    return (await isSignedToken(token, this.#token, now)) ? (headers.get("webhook-id") ?? token) : null;
  }

  /** Makes the batch due, and polls it if no loops run. */
  async #look(batch: string): Promise<void> {
    const runtime = this.#runtime;
    const bare = batch.startsWith(FOLDER) ? batch.slice(FOLDER.length) : batch;
    const ids = [bare, FOLDER + bare];
    const rows = await runtime.store.batches({ providerBatchIds: ids, states: POLLED, limit: MOST_NAMED });
    // A row that only lists the provider's batch among its orphans is not the named one.
    const named = rows.filter(({ providerBatchId }) => providerBatchId !== null && ids.includes(providerBatchId));
    for (const { key } of named) await pollNow(runtime, { batch: key });
    if (named.length > 0) await this.#run?.();
  }

  #remember(id: string): void {
    this.#seen.add(id);
    const [oldest] = this.#seen;
    if (this.#seen.size > MOST_SEEN && oldest !== undefined) this.#seen.delete(oldest);
  }
}

/** False if the event's own time is too old. A token has its own times too. */
function isTimely(headers: Headers, now: number): boolean {
  const seconds = headers.get("webhook-timestamp");
  return seconds === null || isRecent(seconds, now);
}

function answer(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status, headers });
}

/** The body, or null if it is over the byte limit. Reads no further than the limit. */
async function textOf(request: Request): Promise<string | null> {
  if (Number(request.headers.get("content-length") ?? 0) > MOST_BYTES) return null;
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const chunk of request.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > MOST_BYTES) return null;
    text += decoder.decode(chunk as Uint8Array, { stream: true });
  }
  return text + decoder.decode();
}

/** The provider's id of the batch that the event names; null for any other event. */
function batchIn(body: string): string | null {
  try {
    const { type, data } = JSON.parse(body) as { readonly type?: unknown; readonly data?: { readonly id?: unknown } };
    return String(type).startsWith("batch.") && typeof data?.id === "string" && data.id !== "" ? data.id : null;
  } catch {
    return null;
  }
}

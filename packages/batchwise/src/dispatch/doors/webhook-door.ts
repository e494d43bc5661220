// Takes signed events of providers. An event that names one of our batches brings its next poll
// forward. The event itself is not trusted: the poll asks the provider.

import { pollNow } from "../ops/poll-now.ts";
import type { ProviderWebhookPlan } from "../options/provider-webhook-options.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { keysOf, signedId } from "./event-signature.ts";

const MOST_BYTES = 65_536;
const MOST_SEEN = 1_000;
/** Google's batch names begin with this folder; its events may leave it out. */
const FOLDER = "batches/";

export class WebhookDoor {
  readonly #runtime: Runtime;
  readonly #keys: readonly Buffer[];
  /** Ids of handled events, oldest first. Handling a dropped id again does no harm. */
  readonly #seen = new Set<string>();

  constructor(runtime: Runtime, { secrets }: ProviderWebhookPlan) {
    this.#runtime = runtime;
    this.#keys = keysOf(secrets);
  }

  readonly handle = async (request: Request): Promise<Response> => {
    if (request.method !== "POST") return answer(405, { allow: "POST" });
    const body = await textOf(request);
    if (body === null) return answer(413);
    const { runtime, keys } = { runtime: this.#runtime, keys: this.#keys };
    const id = signedId(request.headers, body, keys, runtime.clock.now());
    if (id === null) return answer(401);
    const batch = batchIn(body);
    if (batch === null || this.#seen.has(id)) return answer(204);
    try {
      const bare = batch.startsWith(FOLDER) ? batch.slice(FOLDER.length) : batch;
      for (const providerBatchId of [bare, FOLDER + bare]) await pollNow(runtime, { providerBatchId });
    } catch (error) {
      // Report only: the provider sends the event again.
      runtime.report(error, { operation: "work" });
      return answer(503);
    }
    this.#remember(id);
    return answer(204);
  };

  #remember(id: string): void {
    this.#seen.add(id);
    const [oldest] = this.#seen;
    if (this.#seen.size > MOST_SEEN && oldest !== undefined) this.#seen.delete(oldest);
  }
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

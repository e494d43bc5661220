// The public keys with which a provider signs its tokens. Keys from an address are kept for an
// hour, and longer if it does not answer. A token with an unknown key fetches them again, at most
// once a minute, and at most once in five seconds while the address fails: tokens with made-up key
// ids cause few calls.

import { createPublicKey, type KeyObject } from "node:crypto";
import type { DispatchClock } from "../../contract/dispatcher-options.ts";
import { readable } from "../../format/client-error.ts";
import type { SigningKey } from "./provider-webhook-options.ts";

const KEPT_MS = 3_600_000;
const LEAST_MS = 60_000;
const TIMEOUT_MS = 5_000;
/** How long no fetch follows one that failed. */
const FAILED_MS = 5_000;
const MOST_CHARS = 262_144;

/** Thrown while it cannot be checked whether a key is the provider's. */
export class KeysUnavailable extends Error {}

export class KeySet {
  readonly #source: string | null;
  readonly #clock: DispatchClock;
  readonly #fetch: typeof globalThis.fetch = globalThis.fetch;
  #keys: ReadonlyMap<string, KeyObject>;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #fetching: Promise<void> | null = null;

  /** `source`: the address of the keys, or the keys. */
  constructor(source: string | readonly SigningKey[], clock: DispatchClock) {
    this.#source = typeof source === "string" ? source : null;
    this.#clock = clock;
    this.#keys = typeof source === "string" ? new Map() : keysIn(source);
  }

  /** null for a key id that the set does not have. Rejects with KeysUnavailable. */
  async keyOf(id: string): Promise<KeyObject | null> {
    const age = this.#clock.monotonic() - this.#fetchedAt;
    const known = this.#keys.get(id);
    if (this.#source === null || (known !== undefined && age < KEPT_MS)) return known ?? null;
    if (known === undefined && age < LEAST_MS) return null;
    try {
      await this.#refreshed(this.#source);
    } catch (error) {
      if (known !== undefined) return known;
      throw new KeysUnavailable("The key set of `providerWebhook` cannot be fetched.", { cause: readable(error) });
    }
    return this.#keys.get(id) ?? null;
  }

  /** Calls at one time share a fetch. Rejects with the last failure while it is recent. */
  async #refreshed(source: string): Promise<void> {
    if (this.#clock.monotonic() - this.#failedAt < FAILED_MS) throw this.#failure;
    this.#fetching ??= this.#refresh(source)
      .catch((error: unknown) => {
        [this.#failedAt, this.#failure] = [this.#clock.monotonic(), error];
        throw error;
      })
      .finally(() => {
        this.#fetching = null;
      });
    await this.#fetching;
  }

  async #refresh(source: string): Promise<void> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await this.#clock.hold(this.#fetch(source, { signal, redirect: "error" }));
    const text = await this.#clock.hold(response.text());
    if (!response.ok) throw new Error(`The key set was answered with status ${response.status}.`);
    if (text.length > MOST_CHARS) throw new Error(`The key set has more than ${MOST_CHARS} characters.`);
    const { keys } = JSON.parse(text) as { readonly keys?: unknown };
    if (!Array.isArray(keys)) throw new Error("The key set has no `keys`.");
    this.#keys = keysIn(keys as readonly SigningKey[]);
    this.#fetchedAt = this.#clock.monotonic();
  }
}

/** The RSA keys with an id; others sign in another way. */
function keysIn(keys: readonly SigningKey[]): ReadonlyMap<string, KeyObject> {
  const found = new Map<string, KeyObject>();
  for (const key of keys) {
    if (key?.kty !== "RSA" || typeof key.kid !== "string") continue;
    try {
      found.set(key.kid, createPublicKey({ key, format: "jwk" } as unknown as Parameters<typeof createPublicKey>[0]));
    } catch {
      // A key that is damaged signs nothing.
    }
  }
  return found;
}

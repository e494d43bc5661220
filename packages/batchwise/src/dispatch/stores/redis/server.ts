// Calls the script and converts errors. Guarantees that a call runs alone on the server, whole or
// not at all. Does not repeat a call whose answer was lost: its caller does.

import { DispatchError } from "../../contract/errors.ts";
import { isOfMovedKeys, isOfReplica, messageOf, storeError } from "./faults.ts";
import type { RedisClient, RedisStoreOptions } from "./options.ts";
import { riskOf } from "./risks.ts";
import { type Script, scriptOf } from "./script.ts";

const SET_BACK =
  "Redis has lost data that it had answered for: it was flushed, or came back without its last writes. Requests, outcomes " +
  "and batches may be gone; the rest continues.";

/** An answer of the script: texts, whole numbers, nothing, and lists of these. */
export type Reply = string | number | null | readonly Reply[];

/** The state of the store's data that this process has seen: see script-epoch.ts. */
interface Known {
  readonly epoch: string;
  readonly run: string;
  readonly writes: number;
}

const NOTHING: Known = { epoch: "", run: "", writes: 0 };

export class Server {
  readonly #client: RedisClient;
  readonly #keys: string;
  #known = NOTHING;
  readonly #allowEviction: boolean;
  /**
   * When each script last checked the user's rights and the server's risks: in s, by the server's
   * clock.
   */
  readonly #lookedAt: Map<Script, string> = new Map();
  #setBack: DispatchError | null = null;
  #risk: DispatchError | null = null;
  /** True after the client was reconnected because keys had moved, until a call succeeds. */
  #hasLeft = false;

  constructor({ client, prefix, allowEviction }: Required<RedisStoreOptions>) {
    this.#client = client;
    this.#keys = `{${prefix}}:`;
    this.#allowEviction = allowEviction;
  }

  /** The risk found at the last check. The same object until it changes. */
  get risk(): DispatchError | null {
    return this.#risk;
  }

  /** The last loss of data that a call has met. */
  get setBack(): DispatchError | null {
    return this.#setBack;
  }

  async run(method: string, input: unknown): Promise<Reply> {
    const text = textOf(input);
    const script = scriptOf(method);
    const [known, setBack] = [this.#known, this.#setBack];
    let reply: Reply;
    try {
      reply = await this.#call(script, method, text, known);
    } catch (error) {
      throw storeError(error);
    }
    return this.#learn(reply, setBack, script);
  }

  /**
   * `setBack`: the last loss when the call began. Answers of calls from before a later loss are
   * ignored.
   */
  #learn(reply: Reply, setBack: DispatchError | null, script: Script): Reply {
    const [epoch, run, writes, risks, answer] = Array.isArray(reply) ? (reply as readonly Reply[]) : [];
    const isFirst = setBack === this.#setBack;
    if (writes === undefined) {
      if (!isFirst && this.#setBack !== null) throw this.#setBack;
      this.#known = NOTHING;
      this.#setBack = new DispatchError("STORE_SET_BACK", SET_BACK);
      throw this.#setBack;
    }
    const seen = { epoch: String(epoch), run: String(run), writes: Number(writes) };
    // Another run of the server may have other settings.
    if (this.#known.run !== "" && seen.run !== this.#known.run) this.#lookedAt.clear();
    else if (Array.isArray(risks)) this.#learnRisk(risks.map(String), script);
    // Answers may arrive out of order.
    if (isFirst && seen.writes >= this.#known.writes) this.#known = seen;
    return answer ?? null;
  }

  #learnRisk(risks: readonly string[], script: Script): void {
    this.#lookedAt.set(script, risks.at(-1) ?? "");
    const risk = riskOf(risks.slice(0, -1), this.#allowEviction);
    if (risk?.message !== this.#risk?.message) this.#risk = risk;
  }

  async #call(script: Script, method: string, text: string, { epoch, run, writes }: Known): Promise<Reply> {
    // The fault that keeps a dispatcher from starting may have been corrected since.
    const lookedAt = this.#risk?.code === "STORE_EVICTS" ? "" : (this.#lookedAt.get(script) ?? "");
    const rest = ["1", this.#keys, method, text, epoch, run, String(writes), lookedAt];
    try {
      return await this.#evaluate(script, rest);
    } catch (error) {
      // The next connection may have another user or server.
      this.#lookedAt.clear();
      if (isOfReplica(error)) this.#leave();
      else if (isOfMovedKeys(error) && !this.#hasLeft) {
        this.#hasLeft = true;
        this.#leave();
      }
      throw error;
    }
  }

  async #evaluate({ hash, text }: Script, rest: readonly string[]): Promise<Reply> {
    try {
      return (await this.#send("EVALSHA", hash, ...rest)) as Reply;
    } catch (error) {
      if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
      // This server does not know the script yet; EVAL makes it remember. SCRIPT LOAD has no key,
      // so a cluster may send it to any node.
      return (await this.#send("EVAL", text, ...rest)) as Reply;
    }
  }

  /**
   * Reconnects a client that would stay with the wrong server. Its other calls are cut, too.
   * node-redis has no method for this.
   */
  #leave(): void {
    const client = this.#client;
    if ("call" in client) client.disconnect?.(true);
  }

  /** ioredis has another `sendCommand` too, so its `call` is checked first. */
  async #send(command: string, ...args: string[]): Promise<unknown> {
    const client = this.#client;
    const answer = await ("call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]));
    this.#hasLeft = false;
    return answer;
  }
}

function textOf(input: unknown): string {
  try {
    return JSON.stringify(input, finite);
  } catch (error) {
    throw new DispatchError("REQUEST_TOO_LARGE", `One call is too large for Redis: ${messageOf(error)}.`, error);
  }
}

/** JSON has no Infinity, so the largest number stands for it. */
function finite(_key: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? Number.MAX_VALUE : value;
}

// Calls of the script, and errors in the dispatcher's words. Guarantees that a call runs alone on the server, as a whole
// or not at all; does not repeat one whose answer was lost: its caller does.

import { DispatchError } from "../../contract/errors.ts";
import { messageOf, storeError } from "./faults.ts";
import type { RedisClient, RedisStoreOptions } from "./options.ts";
import { riskOf } from "./risks.ts";
import { type Script, scriptOf } from "./script.ts";

const SET_BACK =
  "Redis has lost data that it had answered for: it was flushed, or came back without its last writes. Requests, outcomes " +
  "and batches may be gone; what is left goes on.";

/** What the script answers: texts, whole numbers, nothing, and lists of these. */
export type Reply = string | number | null | readonly Reply[];

/** How much of the store's data this process has been answered with: see script-epoch.ts. */
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
  /** The scripts that have looked at the user's rights and at the server's risks on this connection, and answered. */
  readonly #looked: Set<Script> = new Set();
  #setBack: DispatchError | null = null;
  #risk: DispatchError | null = null;

  constructor({ client, prefix, allowEviction }: Required<RedisStoreOptions>) {
    this.#client = client;
    this.#keys = `{${prefix}}:`;
    this.#allowEviction = allowEviction;
  }

  /** What was found at the last look at the server. The same object as long as nothing changes. */
  get risk(): DispatchError | null {
    return this.#risk;
  }

  /** The last loss that a call has met. */
  get setBack(): DispatchError | null {
    return this.#setBack;
  }

  async run(method: string, input: unknown): Promise<Reply> {
    const text = textOf(input);
    const [known, setBack] = [this.#known, this.#setBack];
    let reply: Reply;
    try {
      reply = await this.#call(method, text, known);
    } catch (error) {
      throw storeError(error);
    }
    return this.#learn(reply, setBack);
  }

  /** `setBack`: the last loss when the call began. What is answered to a call from before a later one is not learned. */
  #learn(reply: Reply, setBack: DispatchError | null): Reply {
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
    if (this.#known.run !== "" && seen.run !== this.#known.run) this.#looked.clear();
    else if (Array.isArray(risks)) this.#learnRisk(risks);
    // Answers can come in another order than the server gave them.
    if (isFirst && seen.writes >= this.#known.writes) this.#known = seen;
    return answer ?? null;
  }

  #learnRisk(risks: readonly Reply[]): void {
    const risk = riskOf(risks.map(String), this.#allowEviction);
    if (risk?.message !== this.#risk?.message) this.#risk = risk;
  }

  async #call(method: string, text: string, { epoch, run, writes }: Known): Promise<Reply> {
    const script = scriptOf(method);
    // What keeps a dispatcher from starting may have been corrected since.
    const looks = this.#looked.has(script) && this.#risk?.code !== "STORE_EVICTS" ? "" : "looks";
    const rest = ["1", this.#keys, method, text, epoch, run, String(writes), looks];
    try {
      const reply = await this.#evaluate(script, rest);
      this.#looked.add(script);
      return reply;
    } catch (error) {
      // The next connection may be another user's, or lead to another server.
      this.#looked.clear();
      throw error;
    }
  }

  async #evaluate({ hash, text }: Script, rest: readonly string[]): Promise<Reply> {
    try {
      return (await this.#send("EVALSHA", hash, ...rest)) as Reply;
    } catch (error) {
      if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
      // This server does not know the script yet. It remembers it from EVAL. SCRIPT LOAD names no key: a cluster sends it
      // to any of its nodes.
      return (await this.#send("EVAL", text, ...rest)) as Reply;
    }
  }

  /** ioredis has a `sendCommand` too, which takes something else: its `call` comes first. */
  async #send(command: string, ...args: string[]): Promise<unknown> {
    const client = this.#client;
    return "call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]);
  }
}

function textOf(input: unknown): string {
  try {
    return JSON.stringify(input, finite);
  } catch (error) {
    throw new DispatchError("REQUEST_TOO_LARGE", `One call is too large for Redis: ${messageOf(error)}.`, error);
  }
}

/** JSON has no Infinity: as good as none is the largest number. */
function finite(_key: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? Number.MAX_VALUE : value;
}

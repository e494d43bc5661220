// Calls the script and converts errors. Guarantees that a call is atomic. Does not repeat a call
// whose answer was lost: its caller does. Also finds settings of the server that can lose data.

import { messageOf, type Script, ScriptedClient } from "../../../redis/redis-client.ts";
import { DispatchError } from "../../contract/errors.ts";
import { storeError } from "./faults.ts";
import type { RedisStoreOptions } from "./options.ts";
import { scriptOf } from "./script.ts";

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
  readonly #client: ScriptedClient;
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

  constructor({ client, prefix, allowEviction }: Required<RedisStoreOptions>) {
    this.#client = new ScriptedClient(client);
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
    const args = [method, text, epoch, run, String(writes), lookedAt];
    try {
      return (await this.#client.run(script, [this.#keys], args)) as Reply;
    } catch (error) {
      // The next connection may have another user or server.
      this.#lookedAt.clear();
      throw error;
    }
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

const UNREAD =
  "The user may not run INFO (+info): whether Redis evicts keys, keeps an append-only file and is a replica is not known.";
const NO_FILE =
  "Redis keeps no append-only file: what it has answered since its last snapshot is lost when it ends. Set `appendonly yes`.";
const REPLICA =
  "This Redis is a replica: it refuses writes, and what it reads may be old. Lead the address to the primary.";

/**
 * The settings that can lose data of the store; null for none. `values`: the policy, the memory in
 * bytes, whether there is an append-only file, the role; "" if unknown.
 */
function riskOf(values: readonly string[], allowEviction: boolean): DispatchError | null {
  const [policy = "", maxMemory = "", file = "", role = ""] = values;
  const evicts = policy.startsWith("allkeys-") && Number(maxMemory) > 0;
  const found = [
    ...(values.includes("") ? [UNREAD] : []),
    ...evictionWords(policy, maxMemory, evicts && !allowEviction),
    ...(file === "0" ? [NO_FILE] : []),
    ...(role === "slave" ? [REPLICA] : []),
  ];
  if (found.length === 0) return null;
  return new DispatchError(evicts && !allowEviction ? "STORE_EVICTS" : "STORE_AT_RISK", found.join(" "));
}

function evictionWords(policy: string, maxMemory: string, isRefused: boolean): string[] {
  if (policy === "" || policy === "noeviction") return [];
  const setting = `\`maxmemory-policy ${policy}\``;
  if (!policy.startsWith("allkeys-")) {
    return [`Redis has ${setting}: it evicts nothing of the store, whose keys do not expire. Set \`noeviction\`.`];
  }
  if (Number(maxMemory) === 0) return [`Redis has ${setting}: once \`maxmemory\` is set, it throws requests away.`];
  const other = isRefused ? ", or accept the loss by `redisStore({ allowEviction: true })`" : "";
  const what = `at its \`maxmemory\` of ${maxMemory} bytes it throws requests and outcomes away, in silence`;
  return [`Redis has ${setting}: ${what}. Set \`maxmemory-policy noeviction\`${other}.`];
}

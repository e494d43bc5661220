// An account without a provider: this process runs the lines, by a server of OpenAI's format or by
// a function. It keeps nothing: the store records which lines have run, so any process can continue
// a batch.

import { check, objectWith } from "../../../core/contract/validate.ts";
import type {
  Account,
  BatchName,
  CallOptions,
  CreateInput,
  LineRequest,
  ListPage,
  ProviderBatch,
  ResultLine,
} from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Failure } from "../../contract/failures.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { messageIn } from "../../format/client-error.ts";
import { AccountFields } from "../shapes/account-fields.ts";
import { type AccountSettings, resolveAccountOptions } from "../shapes/account-options.ts";
import { tokenOf } from "../shapes/batch-names.ts";
import { Outage } from "./answer.ts";
import { localCapabilities } from "./capabilities.ts";
import { LineRunner } from "./line-runner.ts";
import { LOCAL_OPTIONS, type LocalAccountOptions, type LocalSettings, resolveLocalOptions } from "./options.ts";
import { Places } from "./places.ts";
import { runLines } from "./run-lines.ts";

/** Short, because there is no provider to wait for. */
const POLL_MS = 50;

/**
 * An account for the dispatcher's `accounts` that runs requests itself, with the same durability as
 * at a provider.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 * @example
 * ```ts
 * import { localAccount } from "batchwise/dispatch/local";
 * const server = localAccount({ baseURL: "http://127.0.0.1:8000/v1", concurrency: 64 }); // vLLM, llama.cpp, …
 * const inProcess = localAccount({ name: "echo", handler: async (body) => ({ said: body.messages ?? null }) });
 * ```
 */
export function localAccount(options: LocalAccountOptions): Account {
  check("options", objectWith(), options);
  const local = resolveLocalOptions(options);
  const filled = options.pollMs === undefined ? { ...options, pollMs: POLL_MS } : options;
  const capabilities = { ...localCapabilities, endpoints: local.endpoints };
  const settings = resolveAccountOptions(filled, LOCAL_OPTIONS, capabilities);
  return new LocalAccount(local, { ...settings, secrets: () => local.secrets });
}

class LocalAccount extends AccountFields implements Account {
  readonly check?: NonNullable<Account["check"]>;
  readonly #places: Places;
  readonly #runner: LineRunner;

  constructor(local: LocalSettings, settings: AccountSettings) {
    super(settings, classify);
    this.#places = new Places(local.concurrency);
    this.#runner = new LineRunner(local.call, this.#places, local);
    if (local.check !== null) this.check = local.check;
  }

  encodeLine({ customId, body }: LineRequest): string {
    return `{"custom_id":"${customId}","body":${body}}\n`;
  }

  lineBytes(request: LineRequest, bodyBytes: number): number {
    return this.encodeLine({ ...request, body: "" }).length + bodyBytes;
  }

  checkBody(endpoint: Endpoint, body: JsonObject): void {
    if (!this.capabilities.endpoints.includes(endpoint)) throw invalid(`endpoint "${endpoint}" is not served here`);
    if (body.stream === true) throw invalid("`stream` is not possible in a batch");
  }

  /** Creates nothing: `execute` runs the batch in the store. */
  async create(input: CreateInput, _call: CallOptions): Promise<ProviderBatch> {
    return batchOf(tokenOf(input));
  }

  async list(_page: object, _call: CallOptions): Promise<ListPage> {
    return { batches: [], next: null };
  }

  async retrieve(id: string, _call: CallOptions): Promise<ProviderBatch> {
    return batchOf(id);
  }

  execute(
    lines: AsyncIterable<string>,
    { signal }: Pick<CallOptions, "signal">,
    { endpoint }: BatchName,
  ): AsyncGenerator<ResultLine> {
    return runLines(lines, this.#places, (line) => this.#runner.run(line, endpoint, signal), signal);
  }

  /** Never called: `execute` yields the results. */
  async *results(): AsyncGenerator<ResultLine> {}

  /** Does nothing: cancelled members are not started. */
  async cancel(id: string, _call: CallOptions): Promise<ProviderBatch> {
    return batchOf(id);
  }
}

function classify(error: unknown): Failure {
  if (error instanceof Outage) return error.failure;
  return { kind: "unknown", code: "local_error", message: messageIn(error) };
}

function batchOf(id: string): ProviderBatch {
  return {
    ...{ id, state: "running", rawState: "running", createdAt: 0, expiresAt: null, tag: null, inputFileId: null },
    ...{ total: null, settled: null, resultRefs: [], failure: null },
  };
}

function invalid(reason: string): DispatchError {
  return new DispatchError("INVALID_REQUEST", `The request cannot be run: ${reason}.`);
}

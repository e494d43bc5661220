// Estimates tokens, bytes, batches and dollars of requests before any is sent. Checks each as
// `enqueue` does. Keeps only sums per endpoint and model, and calls neither the store nor a
// provider.

import { batchTokens, servingOf } from "../../accounts/rank-accounts.ts";
import { batchCaps, type LaneCaps, laneCaps } from "../../batches/seal/thresholds.ts";
import type { Account } from "../../contract/account.ts";
import type { Estimate, EstimatedPrice, ModelEstimate } from "../../contract/cost.ts";
import { DispatchError, reworded } from "../../contract/errors.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import type { BatchLine, DispatchRequest, Endpoint, Thresholds } from "../../contract/types.ts";
import { parseLane } from "../../format/encode.ts";
import { priceOf } from "../../prices/price.ts";
import { Intake, type IntakeOptions } from "../check/intake.ts";
import { Defaults } from "../enqueue/defaults.ts";
import { mostOutputOf } from "./output-limit.ts";

type Given = DispatchRequest | BatchLine;
export type EstimateInput = Iterable<Given> | AsyncIterable<Given>;

/** Requests read before the process gets a turn for other work. */
const READ_AT_ONCE = 500;

/** Rejects for a request that `enqueue` would refuse; the error names its index. */
export async function estimate(options: IntakeOptions, requests: EstimateInput): Promise<Estimate> {
  const intake = new Intake(options, () => "");
  const defaults = new Defaults(options);
  const models = new Map<string, ModelSums>();
  let place = 0;
  for await (const given of iterable(requests)) {
    const row = checked(intake, given, place);
    const { endpoint, model } = parseLane(row.lane);
    const name = `${endpoint} ${model}`;
    const sums = models.get(name) ?? new ModelSums(options, endpoint, model);
    models.set(name, sums);
    sums.add(row, mostOutputOf(endpoint, defaults.bodyOf(given, endpoint)));
    place += 1;
    if (place % READ_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return total([...models.values()].map((sums) => sums.estimate()));
}

function iterable(requests: EstimateInput): EstimateInput {
  const given: unknown = requests;
  const isOne = typeof given === "object" && given !== null;
  if (isOne && (Symbol.iterator in given || Symbol.asyncIterator in given)) return requests;
  throw new DispatchError("INVALID_REQUEST", "Expected an array or an iterable of requests.");
}

function checked(intake: Intake, given: Given, place: number): NewRequest {
  try {
    return intake.rowOf(given);
  } catch (error) {
    if (!(error instanceof DispatchError)) throw error;
    throw reworded(error, `requests[${place}]: ${error.message}`);
  }
}

class ModelSums {
  readonly #options: IntakeOptions;
  readonly #endpoint: Endpoint;
  readonly #model: string;
  readonly #accounts: readonly Account[];
  readonly #lanes: Map<string, Filling> = new Map();
  #requests = 0;
  #tokens = 0;
  #bytes = 0;
  #mostOutput: number | null = 0;

  constructor(options: IntakeOptions, endpoint: Endpoint, model: string) {
    this.#options = options;
    this.#endpoint = endpoint;
    this.#model = model;
    this.#accounts = servingOf([...options.accounts.values()], { endpoint, model, urgent: false }).first;
  }

  add(row: NewRequest, mostOutput: number | null): void {
    this.#requests += 1;
    this.#tokens += row.tokens;
    this.#bytes += row.bytes;
    this.#mostOutput = mostOutput === null || this.#mostOutput === null ? null : this.#mostOutput + mostOutput;
    const { inputs } = parseLane(row.lane);
    const lane = this.#lanes.get(row.lane) ?? new Filling(capsOf(this.#options.thresholds, this.#accounts, inputs));
    this.#lanes.set(row.lane, lane);
    lane.add(row);
  }

  estimate(): ModelEstimate {
    return {
      endpoint: this.#endpoint,
      model: this.#model,
      requests: this.#requests,
      tokens: this.#tokens,
      bytes: this.#bytes,
      batches: [...this.#lanes.values()].reduce((sum, { batches }) => sum + batches, 0),
      mostOutputTokens: this.#mostOutput,
      price: this.#price(),
    };
  }

  #price(): EstimatedPrice | null {
    const { prices } = this.#options;
    const of = (outputTokens: number): number | null =>
      priceOf({ inputTokens: this.#tokens, cachedTokens: 0, outputTokens }, this.#model, prices);
    const input = of(0);
    if (input === null) return null;
    return { input, most: this.#mostOutput === null ? null : of(this.#mostOutput) };
  }
}

/**
 * Caps of the account with the largest batches. If a limit on enqueued tokens is known, half of it
 * caps a batch.
 */
function capsOf(thresholds: Thresholds, accounts: readonly Account[], inputs: number): LaneCaps {
  const tokens = accounts.map(({ capabilities: { limits } }) => {
    return batchTokens(batchCaps(thresholds, limits, inputs).maxTokens, limits.maxEnqueuedTokens).first;
  });
  return { ...laneCaps(thresholds, accounts, inputs), maxTokens: Math.max(...tokens) };
}

/** Counts the batches of one lane, filled in arrival order. */
class Filling {
  readonly #caps: LaneCaps;
  #open = { ready: 0, bytes: 0, tokens: 0 };
  batches = 0;

  constructor(caps: LaneCaps) {
    this.#caps = caps;
  }

  add({ bytes, tokens }: NewRequest): void {
    const { maxRequests, maxBytes, maxTokens } = this.#caps;
    const next = { ready: this.#open.ready + 1, bytes: this.#open.bytes + bytes, tokens: this.#open.tokens + tokens };
    const fits = next.ready <= maxRequests && next.bytes <= maxBytes && next.tokens <= maxTokens;
    if (this.batches === 0 || !fits) this.batches += 1;
    this.#open = fits ? next : { ready: 1, bytes, tokens };
  }
}

function total(models: readonly ModelEstimate[]): Estimate {
  const sum = (of: "requests" | "tokens" | "bytes" | "batches"): number =>
    models.reduce((all, model) => all + model[of], 0);
  const unknown = models.filter(({ price }) => price === null).map(({ model }) => model);
  return {
    requests: sum("requests"),
    tokens: sum("tokens"),
    bytes: sum("bytes"),
    batches: sum("batches"),
    mostOutputTokens: sumOfKnown(models.map(({ mostOutputTokens }) => mostOutputTokens)),
    price: totalPrice(models.map(({ price }) => price)),
    models,
    unknownModels: [...new Set(unknown)],
  };
}

function totalPrice(prices: readonly (EstimatedPrice | null)[]): EstimatedPrice | null {
  const input = sumOfKnown(prices.map((price) => price?.input ?? null));
  return input === null ? null : { input, most: sumOfKnown(prices.map((price) => price?.most ?? null)) };
}

/** The sum, or null if any value is null. */
function sumOfKnown(values: readonly (number | null)[]): number | null {
  let all = 0;
  for (const value of values) {
    if (value === null) return null;
    all += value;
  }
  return all;
}

// The type of an account case, and helpers that the cases share. Needs no test runner: a case
// throws if the account breaks the contract.

import { deepEqual, ok } from "node:assert/strict";
import type {
  Account,
  BatchInput,
  BatchName,
  CallOptions,
  ProviderBatch,
  ResultLine,
} from "../../../dispatch/contract/account.ts";
import type { Endpoint, JsonObject, Usage } from "../../../dispatch/contract/types.ts";
import type { FakeFault, FakeOperation } from "../../fake/fault-types.ts";
import { fakeFaults } from "../../fake/presets.ts";
import type { FakeProvider } from "../../fake/provider.ts";
import type { FakeLine, FakeOptions, FakeSurface } from "../../fake/types.ts";

/** The part of a fake that the cases use: a `fakeProvider`, or your own fake of another API. */
export type AccountFake = Pick<FakeProvider, "inject" | "planNext" | "addForeign" | "calls" | "runs" | "batches">;

/** An account on a new fake provider whose clock is at `START`. */
export interface AccountRig {
  readonly account: Account;
  readonly fake: AccountFake;
  /**
   * The fake's operation that creates a batch. Default: OpenAI's, or Anthropic's if the account
   * sends everything inline.
   */
  readonly create?: FakeOperation;
  /** The provider's refusal of a create without credit. Default: OpenAI's or Anthropic's. */
  readonly noMoney?: FakeFault;
  /** The wire format in which other clients create batches. Default: that of `create`. */
  readonly surface?: FakeSurface;
  /** The batch window in ms. Default: 24 hours. */
  readonly windowMs?: number;
  /** Batches never expire. Default false. */
  readonly neverExpires?: boolean;
  /**
   * A batch that expired or was cancelled gives no results, even of lines that ran. Default false.
   */
  readonly endsEmpty?: boolean;
  /** The fake's clock: a `virtualClock(ACCOUNT_START)` of `batchwise/testing`. */
  readonly clock: { advance(ms: number): Promise<unknown>; settle(): Promise<unknown> };
}

/** Makes a fake provider with these options and an account over the provider's usual client. */
export type AccountFactory = (options: FakeOptions) => Promise<AccountRig>;

/** One case of the suite that every account must pass. */
export interface AccountCase {
  /** A sentence that says what an account does. */
  readonly name: string;
  run(open: AccountFactory): Promise<void>;
}

export const MINUTE = 60_000;
export const HOUR = 3_600_000;
/** Start of the fake's clock, in ms since 1970. */
export const START: number = Date.UTC(2026, 0, 1);
const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const CHAT = "/v1/chat/completions";
const MODEL = "model-a";
export const NAME: BatchName = { key: KEY, attempt: 1, endpoint: CHAT, model: MODEL };

/** The endpoint to test: chat, or embeddings if the account has no chat. */
function endpointOf({ capabilities }: Account): Endpoint {
  return capabilities.endpoints.includes(CHAT) ? CHAT : "/v1/embeddings";
}

export function accountCase(
  name: string,
  body: (rig: AccountRig) => Promise<void>,
  options: FakeOptions = {},
): AccountCase {
  return { name, run: async (open) => body(await open({ identify, ...options })) };
}

/** Identifies a line by its messages, so that one request under several ids counts as one. */
function identify({ body }: FakeLine): string {
  return JSON.stringify(body.messages ?? body.contents ?? body);
}

export function call(): CallOptions {
  return { signal: new AbortController().signal, timeoutMs: 10_000.5 };
}

export async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("Expected a rejection.");
}

export function names(count: number): string[] {
  return Array.from({ length: count }, (_, place) => nameOf(place));
}

/** The id of the request at this place of the batch. */
export function nameOf(place: number): string {
  return `${KEY.slice(-12)}_${String(place).padStart(7, "0")}`;
}

/** The fake's operation that creates a batch. */
export function createOf({ account, create }: AccountRig): FakeOperation {
  return create ?? (isAllInline(account) ? "messages.create" : "batches.create");
}

export function surfaceOf(rig: AccountRig): FakeSurface {
  return rig.surface ?? (createOf(rig) === "messages.create" ? "anthropic" : "openai");
}

export function noMoneyOf({ account, noMoney }: AccountRig): FakeFault {
  return noMoney ?? (isAllInline(account) ? fakeFaults.creditExhausted : fakeFaults.quotaExhausted);
}

function isAllInline({ capabilities }: Account): boolean {
  return capabilities.maxInlineBytes === Number.POSITIVE_INFINITY;
}

/** A request of a batch: its place, and the number in its text. */
interface TestRequest {
  readonly place: number;
  readonly text: number;
}

/** Sends a batch in which each request's text is its place. */
export function submit(
  account: Account,
  count: number,
  options: CallOptions = call(),
  attempt: number = 1,
): Promise<ProviderBatch> {
  const asked = Array.from({ length: count }, (_, place) => ({ place, text: place }));
  return submitThese(account, asked, options, attempt);
}

/**
 * Sends a batch as the dispatcher does: checks, encodes, uploads if it is too large for inline, and
 * creates with the tag.
 */
export async function submitThese(
  account: Account,
  asked: readonly TestRequest[],
  options: CallOptions = call(),
  attempt: number = 1,
): Promise<ProviderBatch> {
  const endpoint = endpointOf(account);
  const bodyOf = (text: number): JsonObject =>
    endpoint === CHAT
      ? { model: MODEL, messages: [{ role: "user", content: `text ${text}` }] }
      : { model: MODEL, input: `text ${text}` };
  const lines = asked.map(({ place, text }) => {
    account.checkBody(endpoint, bodyOf(text));
    return account.encodeLine({ customId: nameOf(place), endpoint, body: JSON.stringify(bodyOf(text)) });
  });
  const input = inputOf(lines, attempt);
  const isInline = input.bytes <= account.capabilities.maxInlineBytes;
  const uploaded = isInline ? undefined : await account.upload?.(input, call());
  const firstBody = async (): Promise<string> => JSON.stringify(bodyOf(asked[0]?.text ?? 0));
  return account.create({ ...NAME, endpoint, attempt, input: uploaded ?? input, firstBody }, options);
}

function inputOf(lines: readonly string[], attempt: number): BatchInput {
  return {
    fileName: `${KEY}-${attempt}.jsonl`,
    requests: lines.length,
    bytes: lines.reduce((sum, line) => sum + new TextEncoder().encode(line).length, 0),
    async *lines() {
      yield* lines;
    },
  };
}

export async function collect(
  account: Account,
  batch: ProviderBatch | null,
  options: CallOptions = call(),
  attempt: number = 1,
): Promise<ResultLine[]> {
  const lines: ResultLine[] = [];
  if (batch === null) throw new Error("Expected a batch, got null.");
  const name = { ...NAME, endpoint: endpointOf(account), attempt };
  for await (const line of account.results(batch, options, name)) lines.push(line);
  return lines;
}

/** True if the account must send a batch without gaps. */
export function goesWhole(account: Account): boolean {
  return account.isNamedByPlace?.(MODEL) === true;
}

/** The model's answer to one request, without ids: a text or a vector. */
export function saidBy({ response }: ResultLine): unknown {
  if (response?.body.object === "list") return (response.body as Embeddings).data[0]?.embedding;
  return (response?.body as Completion | undefined)?.choices[0]?.message.content;
}

/** Asserts an answer of the fake's model in OpenAI's format, with the tokens that it counted. */
export function isAnswer({ customId: name, response, error, usage }: ResultLine): void {
  deepEqual([error, response?.statusCode], [null, 200]);
  if (response?.body.object === "list") {
    isVector(response.body, usage);
    return;
  }
  const body = response?.body as Completion;
  deepEqual([body.object, body.model], ["chat.completion", MODEL]);
  const choice = body.choices[0];
  const content = `echo: text ${Number(name.slice(-7))}`;
  deepEqual([choice?.finish_reason, choice?.message.role, choice?.message.content], ["stop", "assistant", content]);
  const { prompt_tokens: input, completion_tokens: output } = body.usage;
  ok(input > 0, "expected prompt tokens");
  deepEqual([usage?.inputTokens, usage?.outputTokens, usage?.totalTokens], [input, output, input + output]);
}

/** Asserts an embeddings answer. */
function isVector(body: JsonObject, usage: Usage | null): void {
  const { data, model, usage: told } = body as Embeddings;
  deepEqual([data.length, data[0]?.object, data[0]?.index, model], [1, "embedding", 0, MODEL]);
  ok(data[0]?.embedding.every(Number.isFinite), "expected a vector of numbers");
  ok(told.prompt_tokens > 0, "expected prompt tokens");
  deepEqual([usage?.inputTokens, usage?.outputTokens], [told.prompt_tokens, 0]);
}

type Embeddings = JsonObject & {
  readonly data: readonly { readonly object: string; readonly index: number; readonly embedding: readonly number[] }[];
  readonly usage: { readonly prompt_tokens: number };
};

type Completion = JsonObject & {
  readonly choices: readonly {
    readonly finish_reason: string;
    readonly message: { readonly role: string; readonly content: string };
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
};

/**
 * True for the batch that `submit` has just made of three requests, identified by the data that the
 * account leaves there.
 */
export function isOurs({ capabilities }: Account, seen: ProviderBatch, created: ProviderBatch): boolean {
  switch (capabilities.tag) {
    case "metadata":
    case "idempotencyToken":
      return seen.tag?.key === KEY && seen.tag.attempt === 1;
    case "inputFile":
      return seen.inputFileId === created.inputFileId;
    default:
      return seen.total === 3;
  }
}

// The type of a case for accounts that run lines themselves, and helpers that the cases share.
// Needs no test runner: a case throws if the account breaks the contract. The cases run in real
// time, because the account waits for a server or a function. Expected events are awaited with a
// long timeout, so slow machines pass. Forbidden events get a short moment in which they would
// happen.

import { deepEqual, ok } from "node:assert/strict";
import type { Account, BatchName, ResultLine } from "../../../dispatch/contract/account.ts";
import type { Endpoint, Json, JsonObject } from "../../../dispatch/contract/types.ts";

/** One call that the account makes for a line. */
export interface RunnerAsked {
  readonly endpoint: Endpoint;
  readonly body: JsonObject;
}

/**
 * The answer to a call: a status and a body, which is `{ error: { code, message } }` from 400 on.
 * Or "lost": the connection breaks.
 */
export type RunnerAnswer = { readonly status: number; readonly body: Json } | "lost";

/** The account that a case needs, and the answers to its calls. */
export interface RunnerOptions {
  /**
   * Called for each call of the account. A promise that never settles is a call without an answer.
   */
  readonly answer: (asked: RunnerAsked) => RunnerAnswer | Promise<RunnerAnswer>;
  /** Maximum lines that the account runs at once. */
  readonly concurrency: number;
  /** Timeout of one call, in ms. */
  readonly lineTimeoutMs: number;
  /** Maximum repeated calls for one line within a try. */
  readonly maxRetries: number;
}

/** An account that runs lines itself, with the server of its calls. */
export interface RunnerRig {
  readonly account: Account;
  /** Stops the server that answers. Absent if the account runs lines in its own process. */
  away?(): Promise<void>;
}

/** Makes an account with these options. */
export type RunnerFactory = (options: RunnerOptions) => Promise<RunnerRig>;

/** One case of the suite that every account with `execute` must pass. */
export interface RunnerCase {
  /** A sentence that says what such an account does. */
  readonly name: string;
  run(open: RunnerFactory): Promise<void>;
}

const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const CHAT = "/v1/chat/completions";
const MODEL = "model-a";
/** Timeout of an expected event. */
const PATIENCE_MS = 20_000;
/** Time in which a forbidden event would happen. */
const MOMENT_MS = 100;

/** Scripts the answers for one account, of a server or a function, and counts its calls. */
export class Bench {
  /** Texts of the received requests, in the order of the calls. */
  readonly asked: string[] = [];
  readonly calls: RunnerAsked[] = [];
  /** Open calls, and the maximum of open calls so far. */
  running = 0;
  most = 0;
  readonly #answer: (said: string, asked: RunnerAsked) => RunnerAnswer | Promise<RunnerAnswer>;

  constructor(answer: (said: string, asked: RunnerAsked) => RunnerAnswer | Promise<RunnerAnswer> = echo) {
    this.#answer = answer;
  }

  /** Opens the account. Defaults: eight lines at once, no repeated calls. */
  open(factory: RunnerFactory, options: Partial<Omit<RunnerOptions, "answer">> = {}): Promise<RunnerRig> {
    return factory({
      ...{ concurrency: 8, lineTimeoutMs: 60_000, maxRetries: 0, ...options },
      answer: (asked) => this.#ask(asked),
    });
  }

  async #ask(asked: RunnerAsked): Promise<RunnerAnswer> {
    this.asked.push(textOf(asked.body));
    this.calls.push(asked);
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    try {
      return await this.#answer(textOf(asked.body), asked);
    } finally {
      this.running -= 1;
    }
  }
}

/** An answer that echoes the request's text. */
export function echo(said: string): RunnerAnswer {
  const message = { role: "assistant", content: `echo: ${said}` };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  return { status: 200, body: { object: "chat.completion", choices, usage } };
}

export function refusal(status: number, code: string, message: string): RunnerAnswer {
  return { status, body: { error: { code, message } } };
}

/** Holds calls until the case lets them end. */
export class Gates {
  readonly #open: { readonly said: string; readonly end: (answer: RunnerAnswer) => void }[] = [];

  readonly hold = (said: string): Promise<RunnerAnswer> => {
    return new Promise((end) => {
      this.#open.push({ said, end });
    });
  };

  /** Number of held calls. */
  get held(): number {
    return this.#open.length;
  }

  end(said: string): void {
    const [gate] = this.#open.splice(
      this.#open.findIndex((each) => each.said === said),
      1,
    );
    gate?.end(echo(gate.said));
  }

  endAll(): void {
    for (const { said, end } of this.#open.splice(0)) end(echo(said));
  }
}

export function names(count: number): string[] {
  return Array.from({ length: count }, (_, ord) => `${KEY.slice(-12)}_${String(ord).padStart(7, "0")}`);
}

export function nameOf(account: Account, attempt: number = 1): BatchName {
  return { key: KEY, attempt, endpoint: endpointOf(account), model: MODEL };
}

/** The endpoint to test: chat, or the first one that the account has. */
export function endpointOf({ capabilities }: Account): Endpoint {
  return capabilities.endpoints.includes(CHAT) ? CHAT : (capabilities.endpoints[0] ?? CHAT);
}

export function bodyOf(said: string, more: JsonObject = {}): JsonObject {
  return { model: MODEL, messages: [{ role: "user", content: said }], ...more };
}

function textOf({ messages }: JsonObject): string {
  const [first] = Array.isArray(messages) ? messages : [];
  return String((first as JsonObject | undefined)?.content);
}

/** Lines of the requests "text 0", "text 1" and so on, with the ids of `names`. */
export function linesOf(account: Account, count: number): string[] {
  return names(count).map((customId, ord) => lineOf(account, customId, bodyOf(`text ${ord}`)));
}

export function lineOf(account: Account, customId: string, body: JsonObject): string {
  account.checkBody(endpointOf(account), body);
  return account.encodeLine({ customId, endpoint: endpointOf(account), body: JSON.stringify(body) });
}

/** A source of lines that counts the lines taken from it. */
export class Source {
  taken = 0;
  readonly #lines: readonly string[];

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (const line of this.#lines) {
      this.taken += 1;
      yield line;
    }
  }
}

export interface Pass {
  next(): Promise<IteratorResult<ResultLine>>;
  /** All remaining results. */
  rest(): Promise<ResultLine[]>;
  return(): Promise<unknown>;
  readonly stop: AbortController;
}

/** Starts one call of `execute`. */
export function execute(account: Account, lines: AsyncIterable<string> | readonly string[]): Pass {
  if (account.execute === undefined) throw new Error("Expected an account with `execute`.");
  const stop = new AbortController();
  const source = Array.isArray(lines) ? new Source(lines) : (lines as AsyncIterable<string>);
  const results = account.execute(source, { signal: stop.signal }, nameOf(account))[Symbol.asyncIterator]();
  const next = (): Promise<IteratorResult<ResultLine>> => inTime(results.next(), "a result");
  const rest = async (): Promise<ResultLine[]> => {
    const seen: ResultLine[] = [];
    for (let each = await next(); each.done !== true; each = await next()) seen.push(each.value);
    return seen;
  };
  return { next, rest, return: async () => results.return?.(), stop };
}

/** Rejects if the work does not end within the timeout. */
export async function inTime<Value>(work: Promise<Value>, what: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const message = `Expected ${what} within ${PATIENCE_MS / 1_000} s, got none.`;
    timer = setTimeout(() => reject(new Error(message)), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

// The global timer, so that a test with fake timers replaces it.
const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

export async function until(happened: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(2)) if (happened()) return;
  throw new Error(`Expected ${what} within ${PATIENCE_MS / 1_000} s, got none.`);
}

/** Waits for the time in which a forbidden event would happen. */
export const moment = (): Promise<void> => sleep(MOMENT_MS);

export async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("Expected a rejection.");
}

/** Asserts exactly these lines, each once, in any order. */
export function eachOnce(lines: readonly ResultLine[], wanted: readonly string[]): void {
  deepEqual(lines.map(({ customId }) => customId).sort(), [...wanted].sort());
}

export function isGood({ response, error }: ResultLine): boolean {
  return error === null && response?.statusCode === 200;
}

/** Asserts that the dispatcher may retry the request: no answer, or a temporary error. */
export function mayPass({ response, error }: ResultLine): boolean {
  ok(error !== null, "expected an error");
  return response === null || response.statusCode === 429 || response.statusCode >= 500;
}

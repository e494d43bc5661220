// Runs one line from its text to its result. Repeats calls while the server is busy or fails. Each
// call has the line's timeout, and every wait ends with the pass.

import type { ResultLine } from "../../contract/account.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { accountBlameOf } from "../../format/account-blame.ts";
import { type Answer, isBusy, Outage, toResultLine, waitBefore } from "./answer.ts";
import { type Places, sleep } from "./places.ts";

export interface LocalRequest {
  readonly endpoint: Endpoint;
  readonly body: JsonObject;
}

/** Makes one call. Rejects with the signal's reason or with an Outage. */
export type MakeCall = (request: LocalRequest, signal: AbortSignal) => Promise<Answer>;

export interface LineRules {
  readonly lineTimeoutMs: number;
  readonly maxRetries: number;
}

/**
 * Throws for a line that was refused because of the account: all other lines would be refused too.
 */
function blameless(line: ResultLine): ResultLine {
  if (line.error !== null && accountBlameOf(line) === "code")
    throw new Outage({ kind: "authOrBilling", ...line.error });
  return line;
}

export class LineRunner {
  readonly #call: MakeCall;
  readonly #places: Places;
  readonly #rules: LineRules;

  constructor(call: MakeCall, places: Places, rules: LineRules) {
    this.#call = call;
    this.#places = places;
    this.#rules = rules;
  }

  async run(line: string, endpoint: Endpoint, signal: AbortSignal): Promise<ResultLine> {
    const { custom_id: customId, body } = JSON.parse(line) as { readonly custom_id: string; readonly body: JsonObject };
    const { maxRetries } = this.#rules;
    for (let repeats = 0; ; repeats += 1) {
      await this.#places.open(signal);
      const answer = await this.#timed({ endpoint, body }, signal);
      const waitMs = waitBefore(answer, repeats, maxRetries);
      if (waitMs === null) return blameless(toResultLine(customId, answer, endpoint));
      if (isBusy(answer)) this.#places.pauseFor(waitMs);
      else await sleep(waitMs, signal);
    }
  }

  /** Rejects after the line's timeout, even if the call ignores its signal. */
  async #timed(request: LocalRequest, signal: AbortSignal): Promise<Answer> {
    const { lineTimeoutMs } = this.#rules;
    const over = new AbortController();
    const message = `No answer within ${lineTimeoutMs} ms.`;
    const timeout: Answer = { kind: "lost", code: "timeout", message, mayRepeat: false };
    const cut = (): void => over.abort(signal.reason);
    signal.addEventListener("abort", cut, { once: true });
    let timer: unknown;
    try {
      return await new Promise<Answer>((resolve, reject) => {
        over.signal.addEventListener("abort", () => (signal.aborted ? reject(signal.reason) : resolve(timeout)));
        timer = setTimeout(() => over.abort(new Error(message)), lineTimeoutMs);
        this.#call(request, over.signal).then(resolve, reject);
      });
    } finally {
      clearTimeout(timer as never);
      signal.removeEventListener("abort", cut);
    }
  }
}

/**
 * A request and its answer as their connection sees them: whose turn it is, whether the caller is
 * still there, and whether all of the answer was sent.
 *
 * Guarantees: `whenOver` calls back once a request. Where the app is asked without a socket, the
 * answer has its turn at once and is always sent. Does not know what the caller has read: bytes
 * that the operating system has taken count as sent.
 */

import type { ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";

export class Exchange {
  readonly #answer: ServerResponse | undefined;

  constructor(answer: ServerResponse | undefined) {
    this.#answer = answer;
  }

  /** True once nothing more can reach the caller. */
  get isCut(): boolean {
    return this.#answer?.req.socket.destroyed ?? false;
  }

  /**
   * The IP address that the connection comes from; empty where the app is asked without a socket.
   */
  get address(): string {
    return this.#answer?.req.socket.remoteAddress ?? "";
  }

  /**
   * True while no body can come: Node.js reads nothing of the connection, because answers wait
   * there to be read by the caller; or the caller waits for a `100 Continue` that earlier answers
   * hold up.
   */
  get isHeldBack(): boolean {
    const request = this.#answer?.req;
    if (request === undefined) return false;
    return request.socket.isPaused() || (request.headers.expect !== undefined && !this.hasTurn);
  }

  /** False while answers to earlier requests of the connection have to be sent first. */
  get hasTurn(): boolean {
    return this.#answer === undefined || this.#answer.socket !== null;
  }

  /** Resolves once the answer has its turn; never, where the caller leaves before. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.hasTurn) resolve();
      else this.#answer?.once("socket", () => resolve());
    });
  }

  /** Sends `100 Continue` where the caller waits for that before it sends the body. */
  askForBody(): void {
    const answer = this.#answer;
    if (answer === undefined || answer.req.httpVersion !== "1.1") return;
    if (answer.req.headers.expect !== undefined) answer.writeContinue();
  }

  /** Ends the connection. */
  cut(): void {
    this.#answer?.req.socket.destroy();
  }

  /**
   * Calls back once all of the answer was sent, with true, or once nothing more of it can be, with
   * false.
   */
  whenOver(callback: (isSent: boolean) => void): void {
    const answer = this.#answer;
    if (answer === undefined || answer.destroyed) {
      callback(answer === undefined);
      return;
    }
    let isSent = false;
    // Node.js emits `finish` for what it throws away with a broken connection, too.
    answer.once("finish", () => {
      isSent = !this.isCut;
    });
    answer.once("close", () => callback(isSent));
  }
}

export function exchangeOf(context: Context): Exchange {
  // Absent where the app is asked without a socket.
  const { outgoing }: Partial<HttpBindings> = context.env ?? {};
  return new Exchange(outgoing);
}

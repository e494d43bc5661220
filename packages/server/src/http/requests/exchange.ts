/**
 * A request and its answer, as their connection sees them: whether it is the answer's turn, whether
 * the caller is still there, and whether the whole answer was sent.
 *
 * Guarantees: `whenOver` calls back once per request. If the app is called without a socket, the
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

  /** True if nothing more can reach the caller. */
  get isCut(): boolean {
    return this.#answer?.req.socket.destroyed ?? false;
  }

  /** The IP address of the caller; "" if the app is called without a socket. */
  get address(): string {
    return this.#answer?.req.socket.remoteAddress ?? "";
  }

  /**
   * True while no body can arrive: Node.js does not read the connection, because earlier answers
   * wait to be read by the caller; or the caller waits for a `100 Continue` that earlier answers
   * delay.
   */
  get isHeldBack(): boolean {
    const request = this.#answer?.req;
    if (request === undefined) return false;
    return request.socket.isPaused() || (request.headers.expect !== undefined && !this.hasTurn);
  }

  /** False while earlier answers of the connection must be sent first. */
  get hasTurn(): boolean {
    return this.#answer === undefined || this.#answer.socket !== null;
  }

  /** Resolves when the answer has its turn; never if the caller leaves before. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.hasTurn) resolve();
      else this.#answer?.once("socket", () => resolve());
    });
  }

  /** Sends `100 Continue` if the caller waits for it before it sends the body. */
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
   * Calls back with true when the whole answer was sent, or with false when no more of it can be.
   */
  whenOver(callback: (isSent: boolean) => void): void {
    const answer = this.#answer;
    if (answer === undefined || answer.destroyed) {
      callback(answer === undefined);
      return;
    }
    let isSent = false;
    // Node.js emits `finish` also for data that it drops with a broken connection.
    answer.once("finish", () => {
      isSent = !this.isCut;
    });
    answer.once("close", () => callback(isSent));
  }
}

export function exchangeOf(context: Context): Exchange {
  // Absent if the app is called without a socket.
  const { outgoing }: Partial<HttpBindings> = context.env ?? {};
  return new Exchange(outgoing);
}

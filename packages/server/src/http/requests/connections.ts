/**
 * The open connections of a server, with the answers that each still owes.
 *
 * Guarantees: an unsent answer closes with its connection. Node.js before 26 closes only the first
 * answer of a connection; answers to requests pipelined behind it would never close, and the work
 * for their callers would continue.
 */

import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface Connection {
  readonly socket: Socket;
  /** Unsent answers, in the order of their requests. */
  readonly owed: Set<ServerResponse>;
  /** The answer to the last request whose headers were read. */
  newest?: ServerResponse;
}

export class Connections {
  readonly #open: Map<Duplex, Connection> = new Map();
  #isStopping = false;

  constructor(server: Server) {
    server.on("connection", (socket) => {
      const owed = new Set<ServerResponse>();
      this.#open.set(socket, { socket, owed });
      socket.once("close", () => {
        this.#open.delete(socket);
        setImmediate(() => closeAll(owed));
      });
    });
    for (const event of ["request", "checkContinue", "checkExpectation"]) {
      server.prependListener(event, (_, answer: ServerResponse) => this.#note(answer));
    }
  }

  /** Undefined after it has closed. */
  of(socket: Duplex): Connection | undefined {
    return this.#open.get(socket);
  }

  /**
   * Ends connections on which nothing has ever come, as browsers open them ahead of time. Node.js
   * does not count them as idle.
   */
  endSilent(): void {
    for (const { socket } of this.#open.values()) if (socket.bytesRead === 0) socket.destroy();
  }

  /**
   * Ends each connection with its last answer from now on. The headers of an answer that has begun
   * may have kept it open for further requests.
   */
  endWithAnswers(): void {
    this.#isStopping = true;
  }

  #note(answer: ServerResponse): void {
    const connection = this.of(answer.req.socket);
    if (connection === undefined || connection.newest === answer) return;
    connection.newest = answer;
    connection.owed.add(answer);
    answer.once("close", () => {
      connection.owed.delete(answer);
      if (this.#isStopping && connection.owed.size === 0) connection.socket.destroySoon();
    });
  }
}

/** Runs after the events with which Node.js closes answers itself. */
function closeAll(owed: ReadonlySet<ServerResponse>): void {
  for (const answer of [...owed]) {
    answer.destroy();
    answer.emit("close");
  }
}

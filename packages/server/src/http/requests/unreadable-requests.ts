/**
 * Answers what never comes to the routes: bytes that are no HTTP, headers that are too long or come
 * too late, CONNECT, and callers that close their side before the answer.
 *
 * Guarantees: OpenAI's shape and an `x-request-id`, as of every other error. The error is written
 * only where the connection owes no other answer, so that it is neither mixed into one nor taken
 * for one. Where requests that came before it on the connection are not answered yet, they are, and
 * the connection is closed without the error. The same holds where the answer to the request whose
 * own body is broken has begun. Does not know the id that the request itself may have. Such
 * requests are in neither the access log nor /metrics.
 */

import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { RequestError } from "@hono/node-server";
import {
  type ApiError,
  expectationFailed,
  fromFailure,
  halfClosed,
  headersTooLarge,
  malformedRequest,
  requestTooSlow,
  wrongMethod,
} from "../errors.ts";
import type { Connection, Connections } from "./connections.ts";
import { newRequestId } from "./request-id.ts";

/** What the adapter fails with before it has made a Request. */
export function answerUnreadable(failure: unknown): Response {
  const isCallers = failure instanceof RequestError;
  const error = isCallers ? malformedRequest(failure.message) : fromFailure(failure, () => 1);
  const response = error.toResponse();
  response.headers.set("x-request-id", newRequestId());
  return response;
}

/**
 * From now on the server's own refusals, which have no body, are in the shape of the service's
 * errors.
 */
export function explainRefusals(server: Server, connections: Connections): void {
  // Node.js reports a connection again for all that comes on it after the first failure.
  const refused = new WeakSet<Duplex>();
  // Without a listener, Node.js closes the connection and answers nothing.
  server.on("connect", ({ url = "" }, socket) => {
    socket.on("error", () => socket.destroy());
    afterAll([...(connections.of(socket)?.owed ?? [])], () =>
      endWith(socket, wrongMethod("CONNECT", url, "GET, POST")),
    );
  });
  // Without a listener, Node.js asks for every body, also for one that the route refuses to read.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  server.on("checkExpectation", (request, response) => {
    const error = expectationFailed(request.headers.expect ?? "");
    response.writeHead(error.status, headersOf(error)).end(error.body);
  });
  server.on("connection", (socket) => {
    // Ahead of Node.js, which ends the connection then, and with it the work for the caller.
    socket.prependListener("end", () => {
      const connection = connections.of(socket);
      const [first] = connection?.owed ?? [];
      if (first === undefined || first.headersSent || connection?.newest?.req.complete !== true) return;
      socket.write(written(halfClosed()));
    });
  });
  server.on("clientError", (failure: NodeJS.ErrnoException, socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    refuse(failure, socket, connections.of(socket));
  });
}

/**
 * Answers what could not be read, or ends the connection once the requests before it are answered.
 */
function refuse(failure: NodeJS.ErrnoException, socket: Duplex, connection: Connection | undefined): void {
  // Where the body of the newest request is what could not be read, the error is the answer to that
  // request.
  const broken = connection?.newest?.req.complete === false ? connection.newest : undefined;
  const hasBegun = broken?.headersSent === true;
  const owed = [...(connection?.owed ?? [])].filter((answer) => answer !== broken || hasBegun);
  const hasLeft = failure.code === "ECONNRESET" || !socket.writable || (owed.length > 0 && socket.readableEnded);
  if (hasLeft) socket.destroy(failure);
  else if (owed.length > 0 || hasBegun) afterAll(owed, () => socket.end(() => socket.destroy()));
  else endWith(socket, refusalOf(failure));
}

/** Calls `then` once all of these answers are closed, at once where there are none. */
function afterAll(answers: readonly ServerResponse[], then: () => void): void {
  if (answers.length === 0) then();
  for (const answer of answers)
    answer.once("close", () => {
      if (answers.every(({ closed }) => closed)) then();
    });
}

function endWith(socket: Duplex, error: ApiError): void {
  socket.end(written(error), () => socket.destroy());
}

function refusalOf({ code, message }: NodeJS.ErrnoException): ApiError {
  if (code === "HPE_HEADER_OVERFLOW") return headersTooLarge();
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return requestTooSlow();
  return malformedRequest(message);
}

/** As it goes over the connection, which it closes. */
function written(error: ApiError): string {
  const head = Object.entries(headersOf(error)).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`, ...head, "", error.body].join("\r\n");
}

function headersOf(error: ApiError): Record<string, string> {
  return {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(error.body)),
    "x-request-id": newRequestId(),
    ...error.headers,
    connection: "close",
  };
}

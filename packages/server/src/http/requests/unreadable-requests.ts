/**
 * Answers requests that never reach the routes: bytes that are not HTTP, headers that are too long
 * or too late, CONNECT, and callers that close their side before the answer.
 *
 * Guarantees: the answer has OpenAI's form and an `x-request-id`, like every other error. The error
 * is written only if the connection owes no other answer, so that it is not mixed with one or
 * mistaken for one. If earlier requests of the connection are unanswered, they are answered, and
 * the connection is closed without the error. The same holds if the answer to the request with the
 * broken body has begun. The request's own id is not known here. Such requests appear in neither
 * the access log nor /metrics.
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

/** The answer to a request for which the adapter failed to make a Request. */
export function answerUnreadable(failure: unknown): Response {
  const isCallers = failure instanceof RequestError;
  const error = isCallers ? malformedRequest(failure.message) : fromFailure(failure, () => 1);
  const response = error.toResponse();
  response.headers.set("x-request-id", newRequestId());
  return response;
}

/** Gives the server's own refusals, which have no body, the form of the service's errors. */
export function explainRefusals(server: Server, connections: Connections): void {
  // Node.js reports a connection again for everything that arrives on it after the first failure.
  const refused = new WeakSet<Duplex>();
  // Without a listener, Node.js closes the connection without an answer.
  server.on("connect", ({ url = "" }, socket) => {
    socket.on("error", () => socket.destroy());
    afterAll([...(connections.of(socket)?.owed ?? [])], () =>
      endWith(socket, wrongMethod("CONNECT", url, "GET, POST")),
    );
  });
  // Without a listener, Node.js requests every body, even one that the route refuses to read.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  server.on("checkExpectation", (request, response) => {
    const error = expectationFailed(request.headers.expect ?? "");
    response.writeHead(error.status, headersOf(error)).end(error.body);
  });
  server.on("connection", (socket) => {
    // Runs before Node.js ends the connection, which would end the work for the caller.
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
 * Answers an unreadable request, or ends the connection when the requests before it are answered.
 */
function refuse(failure: NodeJS.ErrnoException, socket: Duplex, connection: Connection | undefined): void {
  // If the body of the newest request is unreadable, the error is the answer to that request.
  const broken = connection?.newest?.req.complete === false ? connection.newest : undefined;
  const hasBegun = broken?.headersSent === true;
  const owed = [...(connection?.owed ?? [])].filter((answer) => answer !== broken || hasBegun);
  const hasLeft = failure.code === "ECONNRESET" || !socket.writable || (owed.length > 0 && socket.readableEnded);
  if (hasLeft) socket.destroy(failure);
  else if (owed.length > 0 || hasBegun) afterAll(owed, () => socket.end(() => socket.destroy()));
  else endWith(socket, refusalOf(failure));
}

/** Calls `then` when all of these answers are closed; at once if there are none. */
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

/** The raw bytes of the answer, which closes the connection. */
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

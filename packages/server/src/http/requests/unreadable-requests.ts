/**
 * Answers what never comes to the routes: bytes that are no HTTP, headers that are too long or come too late, a Host
 * header or a path of which no address can be made, and CONNECT.
 *
 * Guarantees: OpenAI's shape and an `x-request-id`, as of every other error; an answer that is on its way on the same
 * connection is cut off, not mixed with another.
 * Does not know the id that the request itself may have. Such requests are in neither the access log nor /metrics.
 */

import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { RequestError } from "@hono/node-server";
import {
  type ApiError,
  expectationFailed,
  fromFailure,
  headersTooLarge,
  malformedRequest,
  requestTooSlow,
  wrongMethod,
} from "../errors.ts";
import { newRequestId } from "./request-id.ts";

/** What the adapter fails with before it has made a Request. */
export function answerUnreadable(failure: unknown): Response {
  const isCallers = failure instanceof RequestError;
  const error = isCallers ? malformedRequest(failure.message) : fromFailure(failure, () => 1);
  const response = error.toResponse();
  response.headers.set("x-request-id", newRequestId());
  return response;
}

/** From now on the server's own refusals, which have no body, are in the shape of the service's errors. */
export function explainRefusals(server: Server): void {
  const answers = new WeakMap<Duplex, ServerResponse>();
  server.on("request", (request, response) => answers.set(request.socket, response));
  server.on("clientError", (failure: NodeJS.ErrnoException, socket) => {
    const answer = answers.get(socket);
    const isAnswering = answer?.headersSent === true && !answer.writableFinished;
    if (isAnswering || !socket.writable || failure.code === "ECONNRESET") socket.destroy(failure);
    else refuse(socket, refusalOf(failure));
  });
  // Without a listener, Node closes the connection and answers nothing.
  server.on("connect", ({ url = "" }, socket) => {
    socket.on("error", () => socket.destroy());
    const answer = answers.get(socket);
    const refuseConnect = (): void => refuse(socket, wrongMethod("CONNECT", url, "GET, POST"));
    // Requests that came before it on this connection are answered first.
    if (answer === undefined || answer.writableFinished) refuseConnect();
    else answer.once("close", refuseConnect);
  });
  server.on("checkExpectation", (request, response) => {
    const error = expectationFailed(request.headers.expect ?? "");
    response.writeHead(error.status, headersOf(error)).end(error.body);
  });
}

function refuse(socket: Duplex, error: ApiError): void {
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

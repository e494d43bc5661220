// A server of OpenAI's format on a free local port. Counts calls and answers by text.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: JsonObject;
  /** The text of the last message, or the input. */
  readonly said: string;
  /** Number of the call for this text, from 1. */
  readonly count: number;
}

export interface Said {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent unchanged; "drop" closes the connection. */
  readonly body?: JsonObject | string | "drop" | null;
  readonly delayMs?: number;
  /** The answer is held until this resolves. */
  readonly heldUntil?: Promise<unknown>;
}

export class ModelServer {
  /** Number of calls, and of answers with 200, by text. */
  readonly asked: Map<string, number> = new Map();
  readonly ran: Map<string, number> = new Map();
  /** Times of the calls, in ms. */
  readonly times: number[] = [];
  most = 0;
  #open = 0;
  #server: Server | null = null;
  #port = 0;
  readonly #answer: (asked: Asked) => Said | undefined;

  constructor(answer: (asked: Asked) => Said | undefined = () => undefined) {
    this.#answer = answer;
  }

  get baseURL(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  /** Takes a free port at the first start, and the same one later. */
  async start(): Promise<void> {
    const server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.times.push(performance.now());
    this.#open += 1;
    this.most = Math.max(this.most, this.#open);
    try {
      const body = JSON.parse(await text(request)) as JsonObject;
      const said = lastText(body);
      const count = (this.asked.get(said) ?? 0) + 1;
      this.asked.set(said, count);
      const reply = this.#answer({ path: request.url ?? "", headers: request.headers, body, said, count }) ?? {};
      await reply.heldUntil;
      if (reply.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, reply.delayMs));
      this.#send(response, said, body, reply);
    } finally {
      this.#open -= 1;
    }
  }

  #send(response: ServerResponse, said: string, asked: JsonObject, reply: Said): void {
    const { status = 200, headers = {}, body = completion(said, asked) } = reply;
    if (body === "drop") {
      response.destroy();
      return;
    }
    if (status === 200) this.ran.set(said, (this.ran.get(said) ?? 0) + 1);
    const type = typeof body === "string" ? "text/html" : "application/json";
    response.writeHead(status, { "content-type": type, ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }
}

function lastText({ messages, input }: JsonObject): string {
  if (!Array.isArray(messages)) return String(input);
  return String((messages.at(-1) as JsonObject | undefined)?.content);
}

function completion(said: string, { model = "" }: JsonObject): JsonObject {
  const message = { role: "assistant", content: `echo: ${said}` };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  return { id: "1", object: "chat.completion", model, choices: [{ index: 0, message, finish_reason: "stop" }], usage };
}

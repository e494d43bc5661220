/**
 * The smallest client that the OpenAI account can use: its calls as plain streamed HTTP over one
 * open connection. It replaces the official client where only the dispatcher's memory is measured.
 */
import { Agent, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import type { OpenAiClient } from "batchwise/dispatch/openai";

type Lines = AsyncIterable<Uint8Array>;

export class PlainClient implements OpenAiClient {
  readonly #agent: Agent = new Agent({ keepAlive: true });
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  readonly files: OpenAiClient["files"] = {
    create: ({ file }) => this.#json("POST", "/files", file),
    content: async (id) => ({ body: await this.#send("GET", `/files/${id}/content`) }),
    list: () => this.#json("GET", "/files"),
    delete: (id) => this.#json("DELETE", `/files/${id}`),
  };

  readonly batches: OpenAiClient["batches"] = {
    create: (body) => this.#json("POST", "/batches", Readable.from([Buffer.from(JSON.stringify(body))])),
    retrieve: (id) => this.#json("GET", `/batches/${id}`),
    list: () => this.#json("GET", "/batches"),
    cancel: (id) => this.#json("POST", `/batches/${id}/cancel`),
  };

  close(): void {
    this.#agent.destroy();
  }

  async #json(method: string, path: string, body?: Lines): Promise<unknown> {
    return json(await this.#send(method, path, body));
  }

  #send(method: string, path: string, body?: Lines): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const call = request(`${this.#base}${path}`, { method, agent: this.#agent }, resolve).once("error", reject);
      if (body === undefined) call.end();
      else Readable.from(body, { objectMode: false }).once("error", reject).pipe(call);
    });
  }
}

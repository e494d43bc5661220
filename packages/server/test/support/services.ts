/** Services on real sockets, closed after each test. */

import { connect } from "node:net";
import { afterEachTest } from "../../../../scripts/after-tests.ts";
import { type Service, type ServiceOptions, startService } from "../../src/http/service.ts";
import { smallEncoder } from "./small-encoder.ts";

const services: Service[] = [];

afterEachTest(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

/** With the small model, unless the options name another. */
export async function startSmall(options: Partial<ServiceOptions> = {}): Promise<Service> {
  const service = await startService({ ...(await smallEncoder()), port: 0, ...options });
  services.push(service);
  return service;
}

export interface Failure {
  readonly error: { readonly message: string; readonly code: string; readonly param: string | null };
}

/** Requests embeddings of the input with `fetch`. */
export function embed(service: Service, input: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${service.url}/v1/embeddings`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "batchwise-demo", input }),
  });
}

/**
 * Writes text to a new connection and returns everything that arrives until the server closes it.
 */
export function exchange(service: Service, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(service.port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk.toString();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

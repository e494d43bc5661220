// Local accounts for the suite of accounts that run lines: over a server of OpenAI's format on a
// real socket, and over a function.

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { localAccount } from "batchwise/dispatch/local";
import type { RunnerFactory, RunnerOptions, RunnerRig } from "batchwise/dispatch/testing";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";

export const openHandler: RunnerFactory = async ({ answer, ...options }) => {
  const handler = async (body: JsonObject, { endpoint }: { readonly endpoint: string }): Promise<unknown> => {
    const said = await answer({ endpoint, body });
    if (said === "lost") throw new Error("The connection broke.");
    if (said.status < 400) return said.body;
    const { error } = said.body as { readonly error: { readonly code: string; readonly message: string } };
    throw Object.assign(new Error(error.message), { code: error.code, status: said.status });
  };
  return { account: localAccount({ handler, ...options }) };
};

export const openServer: RunnerFactory = async ({ answer, ...options }): Promise<RunnerRig> => {
  const server = createServer((request, response) => {
    text(request)
      .then((body) => reply(response, answer, request.url ?? "", JSON.parse(body)))
      .catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const away = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(async () => {
    if (server.listening) await away();
  });
  return { account: localAccount({ baseURL: `http://127.0.0.1:${port}/v1`, ...options }), away };
};

async function reply(
  response: ServerResponse,
  answer: RunnerOptions["answer"],
  endpoint: string,
  body: JsonObject,
): Promise<void> {
  const said = await answer({ endpoint, body });
  if (said === "lost") {
    response.destroy();
    return;
  }
  response.writeHead(said.status, { "content-type": "application/json" });
  response.end(JSON.stringify(said.body));
}

// Downloads that a provider redirects, over real sockets: to its own host, to another one, in a
// circle, to no web address.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { HTTPClient, Mistral } from "@mistralai/mistralai";
import type { Account, ProviderBatch, ResultLine } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import { xaiAccount } from "batchwise/dispatch/xai";
import OpenAI, { AzureOpenAI } from "openai";
import { describe, expect, onTestFinished, test } from "vitest";

const KEY = "sk-live-0123456789abcdef";
const SECRET = "of-a-header-0123456789";
const BODY = { id: "1" };
const LINE = { custom_id: "01J0000000000000000000000A-1", response: { status_code: 200, body: BODY } };
/** A page of xAI's is one JSON text, as one line is. */
const PAGE = [{ batch_request_id: LINE.custom_id, batch_result: { response: { chat_get_completion: BODY } } }];

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface Site {
  readonly port: number;
  /** Headers of each call. */
  readonly calls: { readonly url: string; readonly headers: IncomingHttpHeaders }[];
}

async function site(host: string, answer: Answer): Promise<Site> {
  const calls: { url: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    calls.push({ url: request.url ?? "", headers: request.headers });
    request.resume();
    answer(request, response);
  });
  server.listen(0, host);
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, calls };
}

const lines: Answer = (_request, response) => {
  response.writeHead(200, { "content-type": "application/octet-stream" });
  response.end(`${JSON.stringify({ ...LINE, results: PAGE })}\n`);
};

const to =
  (location: string, status = 302): Answer =>
  (_request, response) => {
    response.writeHead(status, { location });
    response.end("elsewhere");
  };

const headers = { "x-gateway-secret": SECRET };

const accounts: Readonly<Record<string, (url: string) => Account>> = {
  OpenAI: (url) =>
    openaiAccount({ client: new OpenAI({ apiKey: KEY, baseURL: `${url}/v1`, defaultHeaders: headers }) }),
  Azure: (url) =>
    openaiAccount({
      client: new AzureOpenAI({ apiKey: KEY, baseURL: `${url}/v1`, apiVersion: "preview", defaultHeaders: headers }),
      service: "azure",
    }),
  xAI: (url) => xaiAccount({ client: new OpenAI({ apiKey: KEY, baseURL: `${url}/v1`, defaultHeaders: headers }) }),
  Anthropic: (url) =>
    anthropicAccount({ client: new Anthropic({ apiKey: KEY, baseURL: url, defaultHeaders: headers }) }),
  Mistral: (url) => mistralAccount({ client: new Mistral({ apiKey: KEY, serverURL: url }) }),
  "Mistral with a client of its own": (url) =>
    mistralAccount({ client: new Mistral({ apiKey: async () => KEY, serverURL: url, httpClient: new HTTPClient() }) }),
};

async function read(account: Account): Promise<ResultLine[]> {
  const batch: ProviderBatch = {
    ...{ id: "batch_1", state: "done", rawState: "done", createdAt: 1, expiresAt: null, tag: null, inputFileId: null },
    ...{ total: 1, settled: 1, resultRefs: ["file-1"], failure: null },
  };
  const name = { key: "01J0000000000000000000000A", attempt: 1, endpoint: "/v1/chat/completions", model: "m" } as const;
  const call = { signal: AbortSignal.timeout(5_000), timeoutMs: 5_000 };
  const seen: ResultLine[] = [];
  for await (const line of account.results(batch, call, name)) seen.push(line);
  return seen;
}

/**
 * The provider: what comes first for a download, and `own` for paths below /own. Anthropic's answer
 * names the results' address.
 */
async function provider(first: string, own: Answer = lines): Promise<Site> {
  const made: Site = await site("127.0.0.1", (request, response) => {
    if (request.url?.startsWith("/own")) own(request, response);
    else if (!request.url?.startsWith("/v1/messages/batches/")) to(first)(request, response);
    else if (request.url.endsWith("/results")) to(first)(request, response);
    else {
      response.writeHead(200, { "content-type": "application/json" });
      const results = `http://127.0.0.1:${made.port}${request.url}/results`;
      response.end(JSON.stringify({ id: "b", processing_status: "ended", results_url: results }));
    }
  });
  return made;
}

const at = ({ port }: Site): string => `http://127.0.0.1:${port}`;
const secretsIn = (calls: Site["calls"]): string[] => calls.filter((call) => isSecret(call)).map(({ url }) => url);
const isSecret = ({ headers: sent }: Site["calls"][number]): boolean =>
  JSON.stringify(sent).includes(KEY) || JSON.stringify(sent).includes(SECRET);

describe.each(Object.entries(accounts))("a download of %s", (_name, make) => {
  test.each([
    ["another port", "127.0.0.1"],
    ["another name of this host", "localhost"],
  ])("that is redirected to %s is read, and no header of the client goes there", async (_what, name) => {
    const other = await site(name, lines);
    const own = await provider(`http://${name}:${other.port}/signed?token=1`);
    expect(await read(make(at(own)))).toHaveLength(1);
    expect(other.calls.map(({ url }) => url)).toEqual(["/signed?token=1"]);
    expect(secretsIn(other.calls)).toEqual([]);
    expect(secretsIn(own.calls)).not.toEqual([]);
  });

  test("that is redirected on its own host continues with the client's key", async () => {
    const own = await provider("/own/file");
    expect(await read(make(at(own)))).toHaveLength(1);
    expect(secretsIn(own.calls).some((url) => url.startsWith("/own/file"))).toBe(true);
  });

  test("that comes back from another host comes without headers", async () => {
    const other = await site("127.0.0.1", (_request, response) => to(`${at(own)}/own/file`)(_request, response));
    const own: Site = await provider("/own/leave", (request, response) =>
      request.url?.startsWith("/own/leave") ? to(at(other))(request, response) : lines(request, response),
    );
    expect(await read(make(at(own)))).toHaveLength(1);
    expect(secretsIn(other.calls)).toEqual([]);
    expect(secretsIn(own.calls).some((url) => url.startsWith("/own/file"))).toBe(false);
    expect(own.calls.some(({ url }) => url.startsWith("/own/file"))).toBe(true);
  });

  test.each([
    ["in a circle", "/own/again", "was redirected more than 5 times"],
    ["to a file", "file:///etc/passwd", "names no http or https address"],
  ])("that is redirected %s ends with an error that blames no request and no key", async (_what, where, words) => {
    const own = await provider(where, to("/own/again"));
    const account = make(at(own));
    const error: unknown = await read(account).catch((reason: unknown) => reason);
    expect(account.classify(error, "results")).toMatchObject({
      kind: "unknown",
      message: expect.stringContaining(words),
    });
  });

  test("whose other host refuses it ends with the host's status in words", async () => {
    const other = await site("127.0.0.1", (_request, response) => response.writeHead(403).end("no"));
    const account = make(at(await provider(at(other))));
    const error: unknown = await read(account).catch((reason: unknown) => reason);
    const words = `127.0.0.1:${other.port}, where a redirect of the provider led, answered 403.`;
    expect(account.classify(error, "results")).toMatchObject({ kind: "unknown", message: words });
  });
});

test("Together's storage gets the file by PUT, and no header of the client", async () => {
  const storage = await site("127.0.0.1", (request, response) =>
    request.on("end", () => response.writeHead(200).end()),
  );
  const own = await site("127.0.0.1", (request, response) => {
    if (request.url?.endsWith("/preprocess")) response.writeHead(200, { "content-type": "application/json" }).end("{}");
    else response.writeHead(302, { location: `${at(storage)}/put`, "x-together-file-id": "file-9" }).end();
  });
  const client = new OpenAI({ apiKey: KEY, baseURL: `${at(own)}/v1`, defaultHeaders: headers, organization: "org-1" });
  const account = openaiAccount({ client, service: "together" });
  const input = {
    ...{ fileName: "k-1.jsonl", requests: 1, bytes: 3 },
    lines: async function* () {
      yield "{}\n";
    },
  };
  const call = { signal: AbortSignal.timeout(5_000), timeoutMs: 5_000 };
  expect(await account.upload?.(input, call)).toEqual({ fileId: "file-9" });
  expect(storage.calls).toHaveLength(1);
  expect(secretsIn(storage.calls)).toEqual([]);
  expect(storage.calls[0]?.headers).toMatchObject({
    "content-length": "3",
    "content-type": "application/octet-stream",
  });
  expect(Object.keys(storage.calls[0]?.headers ?? {}).filter((name) => /openai|stainless/.test(name))).toEqual([]);
  expect(secretsIn(own.calls)).toHaveLength(2);
});

test("Gemini's client follows a redirect itself and takes its key along, as the docs say", async () => {
  const other = await site("127.0.0.1", lines);
  const own = await site("127.0.0.1", to(`${at(other)}/elsewhere`));
  const client = new GoogleGenAI({ apiKey: KEY, vertexai: false, httpOptions: { baseUrl: at(own) } });
  const account = geminiAccount({ client });
  const batch = { id: "batches/1", resultRefs: ["files/1"] } as unknown as ProviderBatch;
  const call = { signal: AbortSignal.timeout(5_000), timeoutMs: 5_000 };
  const name = { key: "01J0000000000000000000000A", attempt: 1, endpoint: "/v1/chat/completions", model: "m" } as const;
  // The line there is not one of Gemini's.
  await expect(account.results(batch, call, name)[Symbol.asyncIterator]().next()).rejects.toThrow("has no key");
  expect(secretsIn(other.calls)).toEqual(["/elsewhere"]);
});

test("an answer of Anthropic's that names another host for the results gets no key there: the own host is called", async () => {
  const other = await site("localhost", lines);
  const own = await site("127.0.0.1", (request, response) => {
    if (request.url?.endsWith("/results")) return lines(request, response);
    response.writeHead(200, { "content-type": "application/json" });
    const results = `http://localhost:${other.port}/stolen`;
    response.end(JSON.stringify({ id: "b", processing_status: "ended", results_url: results }));
  });
  const client = new Anthropic({ apiKey: KEY, baseURL: at(own), defaultHeaders: headers });
  for (const account of [anthropicAccount({ client }), anthropicAccount({ client, betas: ["some-beta"] })]) {
    expect(await read(account)).toHaveLength(1);
  }
  expect(other.calls).toEqual([]);
  const asked = own.calls.filter(({ url }) => url.includes("/results"));
  expect(asked.map(({ url }) => url)).toEqual(new Array(2).fill("/v1/messages/batches/file-1/results"));
  expect(asked[1]?.headers["anthropic-beta"]).toContain("some-beta");
});

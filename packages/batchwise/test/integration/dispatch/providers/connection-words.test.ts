// What onError, the store and checkAccount say where a provider cannot be reached, with the
// official clients and real sockets.

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { Mistral } from "@mistralai/mistralai";
import { type Account, checkAccount, createDispatcher, memoryStore } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { localAccount } from "batchwise/dispatch/local";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";

const common = { pollMs: 20, requestTimeoutMs: 900 };
const apiKey = "k";

const accounts: Readonly<Record<string, (url: string) => Account>> = {
  OpenAI: (url) => openaiAccount({ client: new OpenAI({ apiKey, baseURL: url }), ...common }),
  Anthropic: (url) => anthropicAccount({ client: new Anthropic({ apiKey, baseURL: url }), ...common }),
  Mistral: (url) => mistralAccount({ client: new Mistral({ apiKey, serverURL: url }), ...common }),
  Gemini: (url) =>
    geminiAccount({ client: new GoogleGenAI({ apiKey, vertexai: false, httpOptions: { baseUrl: url } }), ...common }),
  "a local server": (url) => localAccount({ baseURL: url, maxRetries: 0, ...common }),
};

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

describe.each(Object.entries(accounts))("%s", (_name, make) => {
  test.each<[string, () => Promise<[url: string, words: RegExp]>]>([
    [
      "a host that is not there",
      async () => ["http://no-such-host.invalid/v1", /(?:ENOTFOUND|EAI_AGAIN) no-such-host.invalid/],
    ],
    [
      "a port on which nothing listens",
      async () => {
        const port = await closedPort();
        return [`http://127.0.0.1:${port}/v1`, new RegExp(`ECONNREFUSED 127.0.0.1:${port}`)];
      },
    ],
  ])("names %s by its host and code", async (_what, made) => {
    const [url, words] = await made();
    expect((await checkAccount(make(url)))?.message).toMatch(words);
    const errors: unknown[] = [];
    const dispatcher = createDispatcher({
      ...{ store: memoryStore(), accounts: [make(url)], leaseMs: 1_000, onError: (error) => errors.push(error) },
      ...{ thresholds: { maxAgeMs: 10 }, retry: { backoffMs: 1 } },
    });
    onTestFinished(() => dispatcher.stop());
    await dispatcher.start();
    await dispatcher.enqueue({ id: "a", body: { model: "m", messages: [{ role: "user", content: "hi" }] } });
    await expect.poll(() => errors.length, { timeout: 5_000 }).toBeGreaterThan(0);
    expect((errors[0] as Error).message).toMatch(words);
    await expect
      .poll(async () => (await dispatcher.batches())[0]?.lastError?.message, { timeout: 5_000 })
      .toMatch(words);
  });
});

const WORDS_OF = new URL("../../../../src/dispatch/format/client-error.ts", import.meta.url).href;

/** Runs a module in a process of its own and gives what it prints. */
async function printed(script: string, env: Record<string, string>, limit: string = ""): Promise<string> {
  const code = `import { wordsOf } from ${JSON.stringify(WORDS_OF)};\n${script}`;
  const command = `${limit} exec "$0" --input-type=module-typescript --no-warnings`;
  const child = spawn("sh", ["-c", command, process.execPath], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(code);
  return text(child.stdout);
}

test("a process without file descriptors says so", async () => {
  const port = await closedPort();
  const script = `
    import { openSync } from "node:fs";
    await fetch("http://127.0.0.1:${port}").catch(() => {});
    try { for (;;) openSync("/dev/null", "r"); } catch {}
    await fetch("http://127.0.0.1:${port}").catch((error) => console.log(wordsOf(error)));`;
  const words = await printed(script, {}, "ulimit -n 64;");
  expect(words).toMatch(/EMFILE.*; this process has no file descriptor left: raise its limit/);
});

describe("HTTPS_PROXY", () => {
  const script = `await fetch("https://no-such-host.invalid/v1").catch((error) => console.log(wordsOf(error)));`;

  async function proxy(): Promise<{ readonly url: string; readonly asked: string[] }> {
    const asked: string[] = [];
    const server: Server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (data) => {
        asked.push(String(data).split("\r\n", 1)[0] ?? "");
        socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return { url: `http://me:pass-word-0123@127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
  }

  test("that Node.js does not use is named with the settings that it needs, without its password", async () => {
    const { url, asked } = await proxy();
    const words = await printed(script, { HTTPS_PROXY: url });
    expect(words).toContain(
      `; HTTPS_PROXY is set, and Node.js ${process.versions.node} uses it only with NODE_USE_ENV_PROXY=1`,
    );
    expect(words).not.toContain("pass-word");
    expect(asked).toEqual([]);
  });

  test("is used with NODE_USE_ENV_PROXY=1, and not named then", async () => {
    const { url, asked } = await proxy();
    const words = await printed(script, { HTTPS_PROXY: url, NODE_USE_ENV_PROXY: "1" });
    expect(asked).toEqual(["CONNECT no-such-host.invalid:443 HTTP/1.1"]);
    expect(words).not.toContain("HTTPS_PROXY");
  });
});

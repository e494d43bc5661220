import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { type OpenAiAccountOptions, openaiAccount, openaiServices } from "batchwise/dispatch/openai";
import OpenAI, { AzureOpenAI } from "openai";
import { describe, expect, test } from "vitest";

const client = new OpenAI({ apiKey: "key" });

describe("the options of an account", () => {
  test("have the documented defaults", () => {
    expect(openaiAccount({ client })).toMatchObject({
      name: "openai",
      models: null,
      weight: 1,
      pollMs: 30_000,
      requestTimeoutMs: 60_000,
      reconcileGraceMs: 300_000,
      capabilities: { tag: "metadata", maxInlineBytes: 0, limits: { maxRequests: 50_000, maxBytes: 200_000_000 } },
    });
    const anthropic = anthropicAccount({ client: new Anthropic({ apiKey: "key" }) });
    expect(anthropic).toMatchObject({ name: "anthropic", capabilities: { tag: "none", maxInlineBytes: Infinity } });
    expect(anthropic.capabilities.endpoints).toEqual(["/v1/chat/completions", "/v1/messages"]);
  });

  test("override limits one by one", () => {
    const account = openaiAccount({
      client,
      name: "two",
      limits: { maxRequests: 10, maxEnqueuedTokens: 5 },
      models: ["m"],
    });
    expect(account).toMatchObject({ name: "two", models: ["m"] });
    expect(account.capabilities.limits).toMatchObject({ maxRequests: 10, maxEnqueuedTokens: 5, maxBytes: 200_000_000 });
    expect(openaiServices.openai.capabilities.limits.maxRequests).toBe(50_000);
  });

  test.each<[object, string]>([
    [{ client, nam: "x" }, "did you mean `name`"],
    [{ client, limits: { maxRequest: 1 } }, "did you mean `limits.maxRequests`"],
    [{ client, name: "" }, "`name`"],
    [{ client, weight: 0 }, "`weight`"],
    [{ client, pollMs: 0 }, "`pollMs`"],
    [{ client, requestTimeoutMs: "60s" }, "`requestTimeoutMs`"],
    [{ client, reconcileGraceMs: -1 }, "`reconcileGraceMs`"],
    [{ client, limits: { maxBytes: 0 } }, "`limits.maxBytes`"],
    [{ client, models: [1] }, "`models`"],
    [{ client, service: "grok" }, "`service`"],
    [{}, "`client`"],
    [{ client: {} }, "`client.files` to be an object, got `undefined`"],
    [{ client: { files: client.files } }, "`client.batches` to be an object, got `undefined`"],
  ])("refuse %j", (options, message) => {
    const make = (): unknown => openaiAccount(options as OpenAiAccountOptions);
    expect(make).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(message) }),
    );
  });

  test("name the method that a client of another provider lacks", () => {
    expect(() => anthropicAccount({ client: client as never })).toThrow("Expected `client.messages` to be an object");
    expect(() => openaiAccount({ client: new Anthropic({ apiKey: "key" }) as never })).toThrow("`client.files`");
    expect(() => (openaiAccount as () => unknown)()).toThrow("Expected `options` to be an object, got `undefined`");
    expect(() => (anthropicAccount as () => unknown)()).toThrow("Expected `options` to be an object, got `undefined`");
  });

  test("take Azure's client, a service by name, and a record of one's own", () => {
    const azure = new AzureOpenAI({ apiKey: "key", endpoint: "https://example.com", apiVersion: "2025-04-01-preview" });
    expect(openaiAccount({ client: azure, service: "azure" }).capabilities.limits.maxRequests).toBe(100_000);
    expect(openaiAccount({ client, service: "together" }).capabilities.tag).toBe("inputFile");
    const own = { ...openaiServices.openai, capabilities: { ...openaiServices.openai.capabilities, provider: "own" } };
    expect(openaiAccount({ client, service: own }).name).toBe("own");
  });
});

// Official clients of other versions than the one that all other tests use: what is too old is refused when the account
// is made, and the oldest that is supported does all that an account does.

import Anthropic from "@anthropic-ai/sdk";
import Anthropic0 from "anthropic-sdk-0";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI, { AzureOpenAI } from "openai";
import OpenAI4, { AzureOpenAI as AzureOpenAI4 } from "openai-4";
import OpenAI5 from "openai-5";
import { describe, expect, test } from "vitest";
import { accountSuite } from "./account-suite.ts";

const azure = { apiKey: "key", endpoint: "https://example.com", apiVersion: "2025-04-01-preview" };

function refusal(make: () => unknown): unknown {
  try {
    make();
  } catch (error) {
    return error;
  }
  return null;
}

describe("a client that is too old", () => {
  test.each([
    ["openai 4", () => openaiAccount({ client: new OpenAI4({ apiKey: "key" }) as never })],
    ["openai 4, for Azure", () => openaiAccount({ client: new AzureOpenAI4(azure) as never, service: "azure" })],
  ])("of %s is refused, with the version that came and the one that is needed", (_name, make) => {
    expect(refusal(make)).toMatchObject({
      name: "TypeError",
      code: "INVALID_OPTION",
      message:
        "Expected `client` to be one of openai 5 or later, got one of version 4.104.0, which takes no file " +
        "that streams and has no files.delete",
    });
  });

  test("of @anthropic-ai/sdk 0 is refused, because it repeats calls that must go once", () => {
    expect(refusal(() => anthropicAccount({ client: new Anthropic0({ apiKey: "key" }) as never }))).toMatchObject({
      code: "INVALID_OPTION",
      message:
        "Expected `client` to be one of @anthropic-ai/sdk 1 or later, got one of version 0.60.0, which repeats calls " +
        "although retries are switched off",
    });
  });
});

describe("what makes a client fit", () => {
  test("is its methods where it names no version, and the missing ones are named", () => {
    const { files, batches } = new OpenAI({ apiKey: "key" });
    const { create, content, list } = files;
    expect(() => openaiAccount({ client: { files: { create, content, list }, batches } as never })).toThrow(
      "Expected `client.files` to be an object with create, content, list, delete, got one without delete",
    );
    expect(() => openaiAccount({ client: { files, batches } })).not.toThrow();
  });

  test("is not its name: a subclass and Azure's client fit, and an odd user agent says nothing", () => {
    class Ours extends OpenAI {}
    const odd = Object.assign(new Anthropic({ apiKey: "key" }), { getUserAgent: () => "ours" });
    expect(() => openaiAccount({ client: new Ours({ apiKey: "key" }) })).not.toThrow();
    expect(() => openaiAccount({ client: new AzureOpenAI(azure) })).not.toThrow();
    expect(() => anthropicAccount({ client: odd })).not.toThrow();
  });
});

accountSuite(
  {
    name: "the OpenAI account over openai 5",
    create: "batches.create",
    account: (target) => {
      const fetch = "url" in target ? {} : { fetch: target.fetch };
      const baseURL = "url" in target ? `${target.url}/v1` : "http://fake.test/v1";
      return openaiAccount({ client: new OpenAI5({ apiKey: "key", baseURL, ...fetch }) });
    },
  },
  "in the process",
);

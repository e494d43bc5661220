// Official clients of other versions than the one that all other tests use: what is too old is
// refused when the account is made; the oldest that is supported, and the newest, do all that an
// account does.

import Anthropic from "@anthropic-ai/sdk";
import Anthropic0 from "anthropic-sdk-0";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import { accountConformance, fakeFaults } from "batchwise/dispatch/testing";
import { Storage as Storage8 } from "gcs-8";
import { GoogleGenAI as GoogleGenAI3 } from "genai-3";
import OpenAI, { AzureOpenAI } from "openai";
import OpenAI4, { AzureOpenAI as AzureOpenAI4 } from "openai-4";
import OpenAI5 from "openai-5";
import OpenAI7 from "openai-7";
import { describe, expect, test } from "vitest";
import { geminiCase, openaiCaseOf } from "../../../packages/batchwise/test/dispatch/providers/account-cases.ts";
import { accountSuite } from "../../../packages/batchwise/test/dispatch/providers/account-suite.ts";
import { openVertex } from "../../../packages/batchwise/test/dispatch/providers/vertex/vertex-case.ts";

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

describe("the requirement for a client", () => {
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

accountSuite(openaiCaseOf("the OpenAI account over openai 5", OpenAI5), "in the process");

// The newest of each: anthropic, mistral and S3 are the versions that all other tests use.
accountSuite(openaiCaseOf("the OpenAI account over openai 7", OpenAI7), "over real sockets");
accountSuite(geminiCase("the Gemini account over @google/genai 3, inline", 200_000, GoogleGenAI3), "in the process");
accountSuite(geminiCase("the Gemini account over @google/genai 3, with files", 0, GoogleGenAI3), "over real sockets");

describe("the Vertex account over @google/genai 3 and @google-cloud/storage 8", () => {
  for (const { name, run } of accountConformance) {
    test(name, () =>
      run(async (options) => {
        const own = { modelPath: (model: string) => `publishers/google/models/${model}` };
        const rig = await openVertex(options, own, { GoogleGenAI: GoogleGenAI3, Storage: Storage8 });
        const noMoney = fakeFaults.billingDisabled;
        return { ...rig, create: "vertex.create", noMoney, surface: "vertex", omitsUnrun: true };
      }),
    );
  }
});

// The adapters under test, each over the official client that its users have.

import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";
import type { Adapter } from "./account-suite.ts";

export const openaiCase: Adapter = {
  name: "the OpenAI account",
  create: "batches.create",
  account: (target) => {
    const client =
      "url" in target
        ? new OpenAI({ apiKey: "key", baseURL: `${target.url}/v1` })
        : new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: target.fetch });
    return openaiAccount({ client });
  },
};

export const anthropicCase: Adapter = {
  name: "the Anthropic account",
  create: "messages.create",
  account: (target) => {
    const client =
      "url" in target
        ? new Anthropic({ apiKey: "key", baseURL: target.url })
        : new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: target.fetch });
    return anthropicAccount({ client });
  },
};

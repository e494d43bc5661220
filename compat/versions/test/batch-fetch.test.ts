// OpenAI's own client over `batchFetch`, in each major version that is supported: a thousand calls
// share a batch or two, each caller gets its own answer, and a second run sends nothing.

import { batchFetch } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";
import OpenAI5 from "openai-5";
import OpenAI7 from "openai-7";
import { describe, expect, test } from "vitest";
import { Rig } from "../../../packages/batchwise/test/dispatch/support/fetch-rig.ts";

const CALLS = 1_000;
const PATIENT = { apiKey: "caller", baseURL: "http://elsewhere.test/v1", maxRetries: 0, timeout: 172_800_000 };
const questions = Array.from({ length: CALLS }, (_, index) => `Question ${index}?`);

type Ask = (text: string) => Promise<unknown>;

/** The three endpoints, as a user of this version calls them. */
function asks(Client: typeof OpenAI, fetch: typeof globalThis.fetch): Readonly<Record<string, Ask>> {
  const client = new Client({ ...PATIENT, fetch });
  return {
    "chat.completions.create": async (content) => {
      const { choices } = await client.chat.completions.create({ model: "m", messages: [{ role: "user", content }] });
      return choices[0]?.message.content;
    },
    "responses.create": async (input) => (await client.responses.create({ model: "m", input })).output_text,
    "embeddings.create": async (input) => (await client.embeddings.create({ model: "e", input })).data[0]?.embedding,
  };
}

describe.each([
  ["5", OpenAI5 as unknown as typeof OpenAI],
  ["6", OpenAI],
  ["7", OpenAI7 as unknown as typeof OpenAI],
])("openai %s", (_version, Client) => {
  test.each(["chat.completions.create", "responses.create", "embeddings.create"])(
    "%s: a thousand callers share a batch, and a second run sends nothing",
    async (method) => {
      const rig = new Rig();
      const client = new OpenAI({ apiKey: "account", baseURL: "http://fake.test/v1", fetch: rig.fake.fetch });
      const dispatcher = await rig.start({ accounts: [openaiAccount({ client, models: ["m", "e"] })] });
      const ask = asks(Client, batchFetch(dispatcher))[method] as Ask;
      const answers = await rig.answers(questions.map((text) => ask(text)));
      if (method === "embeddings.create") expect(new Set(answers.map(String)).size).toBe(CALLS);
      else expect(answers).toEqual(questions.map((text) => expect.stringContaining(text)));
      expect(rig.fake.calls("batches.create")).toBeLessThanOrEqual(2);
      const again = asks(Client, batchFetch(dispatcher))[method] as Ask;
      expect(await rig.answers(questions.map((text) => again(text)))).toEqual(answers);
      expect([...rig.fake.runs().values()]).toEqual(questions.map(() => 1));
      expect(rig.told).toEqual([]);
    },
  );
});

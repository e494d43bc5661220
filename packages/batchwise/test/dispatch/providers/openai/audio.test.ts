// Audio batches at Groq and Together, each through a whole dispatcher, the official client and real
// sockets: lines have the documented form, and undocumented fields are refused at `enqueue`.

import { createDispatcher, type Dispatcher, type JsonObject, memoryStore } from "batchwise/dispatch";
import { openaiAccount, openaiServices } from "batchwise/dispatch/openai";
import { type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkBody } from "../../../../src/dispatch/providers/openai/check-body.ts";
import { tokensOf } from "../../../../src/dispatch/requests/estimate/body-tokens.ts";

const AUDIO = ["/v1/audio/transcriptions", "/v1/audio/translations"] as const;
const address = "https://example.com/a.wav";

interface Rig {
  readonly dispatcher: Dispatcher;
  readonly fake: FakeProvider;
  /** The uploaded lines. */
  readonly lines: JsonObject[];
}

async function open(service: "groq" | "together"): Promise<Rig> {
  const lines: JsonObject[] = [];
  const plan = { validateMs: 0, runMs: 0, finalizeMs: 0 };
  const fake = fakeProvider({ dialect: service, plan });
  const { url, close } = await fake.listen();
  const client = new OpenAI({ apiKey: "key", baseURL: `${url}/v1` });
  const account = openaiAccount({ client, service, pollMs: 10 });
  const upload = account.upload?.bind(account);
  if (upload === undefined) throw new Error("Expected an account that uploads.");
  account.upload = async (input, call) => {
    for await (const line of input.lines()) lines.push(JSON.parse(line));
    return upload(input, call);
  };
  const dispatcher = createDispatcher({ store: memoryStore(), accounts: [account], thresholds: { maxAgeMs: 1 } });
  await dispatcher.start();
  onTestFinished(async () => {
    await dispatcher.stop();
    await close();
  });
  return { dispatcher, fake, lines };
}

test.each([
  ["groq", "url", "POST"],
  ["together", "file", "FILE"],
] as const)(
  "%s transcribes and translates the file at the address in `%s`, in lines of %s",
  async (service, field, method) => {
    const { dispatcher, lines, fake } = await open(service);
    const body = { model: "whisper-large-v3", [field]: address, response_format: "verbose_json", temperature: 0 };
    await dispatcher.enqueueMany(AUDIO.map((endpoint) => ({ id: endpoint, endpoint, body })));
    for (const endpoint of AUDIO) {
      expect(await dispatcher.result(endpoint)).toMatchObject({
        status: "succeeded",
        response: { statusCode: 200, body: { text: `echo: ${address}` } },
      });
      const [line] = lines.filter(({ url }) => url === endpoint);
      expect(line).toEqual({ custom_id: expect.any(String), method, url: endpoint, body });
    }
    expect(lines).toHaveLength(AUDIO.length);
    expect([...fake.runs().values()].reduce((sum, runs) => sum + runs, 0)).toBe(AUDIO.length);
  },
);

test.each([
  ["groq", "file", "`url` must be the address of the audio"],
  ["together", "url", "`file` must be the address of the audio"],
] as const)("%s is not called by `%s`: the request is refused when it is enqueued", async (service, field, words) => {
  const { dispatcher } = await open(service);
  for (const endpoint of AUDIO) {
    const request = { id: endpoint, endpoint, body: { model: "whisper-large-v3", [field]: address } };
    await expect(dispatcher.enqueue(request)).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      message: expect.stringContaining(words),
    });
  }
});

test("a service that lists audio and names no field takes either", () => {
  const { maxInputs } = openaiServices.openai;
  const rules = { endpoints: AUDIO, maxInputs };
  for (const body of [{ url: address }, { file: address }]) checkBody(rules, AUDIO[0], body);
  expect(() => checkBody(rules, AUDIO[0], { file: "" })).toThrow("`url` or `file` must be the address of the audio");
});

describe("estimates", () => {
  test("of audio in a data URL follow its length in time, not its letters", () => {
    const url = `data:audio/mp3;base64,${"A".repeat(640_000)}`;
    expect(tokensOf({ model: "whisper-large-v3", url }, true)).toBeLessThan(400);
  });
});

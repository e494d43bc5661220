// The selection of a command's requests: in the order of the dispatcher.

import { createDispatcher, memoryStore } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { whichRequests } from "../../../src/cli/jobs/which-requests.ts";

const CODE = "no\0such ".repeat(100);

async function found(flags: Parameters<typeof whichRequests>[2], ids: readonly string[] = []): Promise<string[][]> {
  const store = memoryStore();
  const client = new OpenAI({ apiKey: "any", baseURL: "http://fake.test/v1", fetch: fakeProvider().fetch });
  const dispatcher = createDispatcher({ store, accounts: [openaiAccount({ client })] });
  onTestFinished(() => dispatcher.stop());
  const all = Array.from({ length: 1_200 }, (_, n) => `r${n}`);
  await dispatcher.enqueueMany(all.map((id) => ({ id, job: "j", body: { model: "m", input: id } })));
  const stored = CODE.replaceAll("\0", "\ufffd").slice(0, 256);
  await store.amend({ kind: "fail", ids: ["r7", "r1100"], payload: "{}", code: stored }, [], Date.now());
  const parts: string[][] = [];
  for await (const part of whichRequests(dispatcher, ids, flags, ["failed"])) parts.push([...part]);
  return parts;
}

test("a provider's own code finds its requests, however odd and long it is", async () => {
  expect((await found({ code: CODE })).flat()).toEqual(["r7", "r1100"]);
  expect((await found({ code: "another" })).flat()).toEqual([]);
});

test("ids come in parts of a thousand, and to mean all by saying nothing is refused", async () => {
  const ids = Array.from({ length: 1_200 }, (_, n) => `x${n}`);
  expect((await found({}, ids)).map(({ length }) => length)).toEqual([1_000, 200]);
  await expect(found({})).rejects.toThrow("Expected ids of requests");
});

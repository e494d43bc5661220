// Putting a file into the store: all of it, or, where a request of it is not the one of an earlier
// run, nothing new.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDispatcher, memoryStore } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { enqueueFile } from "../../../src/cli/run/enqueue-file.ts";
import { temporaryFolder } from "../../support/folders.ts";

function lines(from: number, to: number, changed = -1): string {
  const line = (n: number): string =>
    JSON.stringify({ id: `r${n}`, body: { model: "m", input: n === changed ? "another" : `text ${n}` } });
  return Array.from({ length: to - from }, (_, n) => `${line(from + n)}\n`).join("");
}

test("a file with a changed or refused request adds nothing, wherever that is, and ends nothing that waits", async () => {
  const input = join(await temporaryFolder(), "in.jsonl");
  const store = memoryStore();
  const client = new OpenAI({ apiKey: "any", baseURL: "http://fake.test/v1", fetch: fakeProvider().fetch });
  const dispatcher = createDispatcher({ store, accounts: [openaiAccount({ client })] });
  onTestFinished(() => dispatcher.stop());
  const enqueue = async (text: string): Promise<readonly [number, number]> => {
    writeFileSync(input, text);
    let told: readonly [number, number] = [0, 0];
    const onProgress = (...now: [number, number]): void => {
      told = now;
    };
    await enqueueFile({ dispatcher, store, input, job: "in", onProgress });
    return told;
  };
  const found = async (): Promise<object> => {
    const { lanes, outcomes } = await store.probe(10_000, Date.now());
    return { waiting: lanes[0]?.ready, cancelled: outcomes.cancelled };
  };

  expect(await enqueue(lines(1_000, 1_500))).toEqual([500, 0]);
  await expect(enqueue(lines(0, 2_000, 1_400))).rejects.toThrow(
    /^Line 1401 of .*in\.jsonl is another request than .* pass another --job\. Nothing of this file was sent in this run\.$/,
  );
  expect(await found()).toEqual({ waiting: 500, cancelled: 0 });
  const late = `${lines(0, 1_999)}{"body":{"model":"m","input":"x"},"endpoint":"/v1/none"}\n`;
  await expect(enqueue(late)).rejects.toThrow('in.jsonl: Line 2000: The endpoint "/v1/none" is not one of');
  expect(await found()).toEqual({ waiting: 500, cancelled: 0 });
  expect(await enqueue(lines(0, 2_000))).toEqual([2_000, 500]);
  expect(await found()).toEqual({ waiting: 2_000, cancelled: 0 });
});

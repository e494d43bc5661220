// Texts that take a tokenizer long, sent to a process of its own. How soon it answers on a quiet
// machine, with many more texts, is measured in prove/long-texts.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  endlessWordPiece,
  hardTexts,
  KINDS,
  type Kind,
  tokenizerJson,
} from "../../../batchwise/test/onnx/text/tokenizer-kinds.ts";
import { type Command, startCommand } from "../support/command.ts";
import { embedOf, exportOf, fullBody, whileHealthy } from "../support/long-texts.ts";

/** In the event loop, one of the texts takes up to five seconds, and a body of them minutes. */
const SOON_MS = 1_500;

interface Served {
  readonly url: string;
  readonly command: Command;
}

async function serve(tokenizer: Record<string, unknown>): Promise<Served> {
  const command = startCommand("serve", "--port", "0", "--model", await exportOf(tokenizer));
  const [, url] = await command.prints(/ at (http:\S+)/);
  return { url: url as string, command };
}

/** The text on which each takes longest. */
const WORST: Readonly<Record<Kind, string>> = {
  Unigram: "characters outside of the vocabulary",
  "byte-level BPE": "one letter",
  WordPiece: "words of a hundred letters",
};

describe.each(KINDS)("with %s", (kind) => {
  test("health checks and short texts are answered soon while long texts are tokenised", async () => {
    const { url } = await serve(tokenizerJson(kind));
    const text = hardTexts(51_000)[WORST[kind]] as string;
    const watched = await whileHealthy(url, async () => {
      const long = Promise.all([embedOf(url, [text], 60_000), embedOf(url, fullBody(text), 1_000)]);
      const short = await embedOf(url, ["a short text"], SOON_MS);
      return { short, long: await long };
    });
    expect(watched.slowestMs).toBeLessThan(SOON_MS);
    expect(watched.value.short).toMatchObject({ status: 200 });
    const [alone] = watched.value.long;
    expect([200, 400]).toContain(alone?.status);
  });
});

test("a text that takes longer than the limit gets 400 that names it, and the next one is answered", async () => {
  const { url } = await serve(endlessWordPiece());
  const { value, slowestMs } = await whileHealthy(url, () => embedOf(url, ["a", "q".repeat(40_000)], 60_000));
  expect(slowestMs).toBeLessThan(SOON_MS);
  expect(value?.status).toBe(400);
  expect(JSON.parse(value?.body ?? "")).toMatchObject({
    error: {
      param: "input",
      code: "invalid_input",
      message: "The model cannot take this input: The tokenizer failed on `input[1]`: it took more than 5000 ms.",
    },
  });
  expect(await embedOf(url, ["a b ".repeat(120)], 60_000)).toMatchObject({ status: 200 });
});

test("a stop while a text is tokenised answers it and ends the process", async () => {
  const { url, command } = await serve(endlessWordPiece());
  const answer = embedOf(url, ["q".repeat(40_000)], 60_000);
  await sleep(500);
  command.process.kill("SIGTERM");
  expect(await answer).toMatchObject({ status: 400 });
  expect(await command.ended).toBe(0);
});

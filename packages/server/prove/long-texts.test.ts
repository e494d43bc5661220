// How soon the built command answers health checks while it tokenises the texts that take longest.
// Wants a quiet machine.

import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";
import { built, root } from "../../batchwise/test/house/repository.ts";
import { KINDS, tokenizerJson } from "../../batchwise/test/onnx/text/tokenizer-kinds.ts";
import { commandOf } from "../test/support/command.ts";
import { embedOf, exportOf, hardInputs, whileHealthy } from "../test/support/long-texts.ts";

const LONGEST_MS = 100;
/** Callers leave after it: some bodies take minutes. */
const PATIENCE_MS = 3_000;
/** What else runs on the machine delays answers, too, so the best round of each counts. */
const ROUNDS = 3;

/** The built command with a model whose tokenizer is of this kind. */
async function serve(model: string): Promise<string> {
  built("index.js");
  const program = `${root}packages/server/bin/batchwise.js`;
  const flags = ["serve", "--port", "0", "--model", model];
  const command = commandOf(spawn(process.execPath, [program, ...flags], { stdio: ["ignore", "pipe", "pipe"] }));
  const [, url] = await command.prints(/ at (http:\S+)/);
  return url as string;
}

describe.each(KINDS)("with %s", (kind) => {
  test("/healthz answers within 100 ms, whatever texts are sent", async () => {
    const url = await serve(await exportOf(tokenizerJson(kind)));
    await whileHealthy(url, () => embedOf(url, ["a warm-up"], PATIENCE_MS));
    const slow: string[] = [];
    for (const [name, input] of hardInputs()) {
      const slowest: number[] = [];
      while (slowest.length < ROUNDS && (slowest.at(-1) ?? Number.POSITIVE_INFINITY) > LONGEST_MS) {
        slowest.push((await whileHealthy(url, () => embedOf(url, input, PATIENCE_MS))).slowestMs);
      }
      const line = `${name}: the slowest check took ${slowest.map((ms) => ms.toFixed(0)).join(", ")} ms`;
      console.log(`${kind}, ${line}`);
      if (Math.min(...slowest) > LONGEST_MS) slow.push(line);
    }
    expect(slow).toEqual([]);
  });
});

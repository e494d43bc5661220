// How soon the built command answers health checks while it tokenises the texts that take longest. Wants a quiet machine.

import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";
import { built, root } from "../../batchwise/test/house/repository.ts";
import { KINDS, tokenizerJson } from "../../batchwise/test/onnx/text/tokenizer-kinds.ts";
import { commandOf } from "../test/support/command.ts";
import { embedOf, exportOf, hardInputs, whileHealthy } from "../test/support/long-texts.ts";

const LONGEST_MS = 100;
/** Callers leave after it: some bodies take minutes. */
const PATIENCE_MS = 8_000;

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
      const { value, slowestMs, checks } = await whileHealthy(url, () => embedOf(url, input, PATIENCE_MS));
      const line = `${name}: ${value?.status ?? "left"}, ${checks} checks, the slowest took ${slowestMs.toFixed(0)} ms`;
      console.log(`${kind}, ${line}`);
      if (slowestMs > LONGEST_MS) slow.push(line);
    }
    expect(slow).toEqual([]);
  });
});

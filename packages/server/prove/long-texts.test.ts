// How soon the built command answers health checks while it tokenises the texts that take longest.
// What else runs on the machine delays answers, too: a process that does nothing else answers
// checks at the same time, and what it takes is printed and does not count.

import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";
import { built, root } from "../../batchwise/test/house/repository.ts";
import { KINDS, tokenizerJson } from "../../batchwise/test/onnx/text/tokenizer-kinds.ts";
import { commandOf } from "../test/support/command.ts";
import { embedOf, exportOf, hardInputs, whileHealthy } from "../test/support/long-texts.ts";

const LONGEST_MS = 100;
/** Callers leave after it: some bodies take minutes. */
const PATIENCE_MS = 3_000;
/** The best round of each text counts: one delay of the machine hits one of the two processes. */
const ROUNDS = 3;
const IDLE = `require("http").createServer((_, answer) => answer.end()).listen(0, "127.0.0.1",
  function () { console.log("at http://127.0.0.1:" + this.address().port) })`;

async function serveNothing(): Promise<string> {
  const child = spawn(process.execPath, ["--eval", IDLE], { stdio: ["ignore", "pipe", "pipe"] });
  const [, url] = await commandOf(child).prints(/at (http:\S+)/);
  return url as string;
}

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
  test("/healthz answers within 100 ms of an idle process, whatever texts are sent", async () => {
    const [url, idleUrl] = await Promise.all([exportOf(tokenizerJson(kind)).then(serve), serveNothing()]);
    await whileHealthy(url, () => embedOf(url, ["a warm-up"], PATIENCE_MS));
    const slow: string[] = [];
    for (const [name, input] of hardInputs()) {
      const rounds: { readonly own: number; readonly idle: number }[] = [];
      const isSoon = (): boolean => rounds.some(({ own, idle }) => own - idle <= LONGEST_MS);
      while (rounds.length < ROUNDS && !isSoon()) {
        const both = whileHealthy(url, () => embedOf(url, input, PATIENCE_MS));
        const { value, slowestMs: idle } = await whileHealthy(idleUrl, () => both);
        rounds.push({ own: value.slowestMs, idle });
      }
      const figures = rounds.map(({ own, idle }) => `${own.toFixed(0)} ms (idle: ${idle.toFixed(0)} ms)`);
      const line = `${name}: the slowest check took ${figures.join(", ")}`;
      console.log(`${kind}, ${line}`);
      if (!isSoon()) slow.push(line);
    }
    expect(slow).toEqual([]);
  });
});

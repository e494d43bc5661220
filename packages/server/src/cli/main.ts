#!/usr/bin/env node
/**
 * The `batchwise` command: reads the arguments and hands over. A wrong argument is refused with what was expected.
 */

import { Command, InvalidArgumentError, Option } from "commander";
import { serve } from "./serve.ts";

const DEFAULT_PORT = 8080;

interface ServeFlags {
  readonly port?: number;
  readonly host: string;
  readonly model?: string;
  readonly tokenizer?: string;
  readonly modelDir?: string;
  readonly modelName?: string;
  readonly maxTokens?: number;
  readonly workers?: number;
  readonly maxBatchTokens?: number;
  readonly maxBatchSize?: number;
  readonly maxWaitMs?: number;
  readonly maxQueueSize?: number;
  readonly timeoutMs?: number;
}

function integerFrom(minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    const range = maximum === Number.MAX_SAFE_INTEGER ? `>= ${minimum}` : `from ${minimum} to ${maximum}`;
    throw new InvalidArgumentError(`Expected an integer ${range}.`);
  };
}

const positive = integerFrom(1);

function serveCommand(): Command {
  return new Command("serve")
    .description("answer POST /v1/embeddings over HTTP, batching the texts of all callers")
    .addOption(new Option("--port <port>", `port; ${DEFAULT_PORT}, or a free one`).argParser(integerFrom(0, 65_535)))
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--model <path>", "an .onnx sentence encoder, or its folder; unset: a small one with random weights")
    .option("--tokenizer <path>", "the model's tokenizer.json; unset: the one beside the model")
    .option("--model-dir <path>", "where the built-in model is kept; unset: the user's cache folder")
    .option("--model-name <name>", "the name that callers ask for; unset: taken from the file")
    .option("--max-tokens <count>", "longest text in tokens; unset: what the model's files say", positive)
    .option("--workers <count>", "threads with a model each; unset: one less than there are cores", positive)
    .option("--max-batch-tokens <count>", "cap on a batch's padded tokens (default: 512)", positive)
    .option("--max-batch-size <count>", "cap on a batch's texts (default: 64)", positive)
    .option("--max-wait-ms <ms>", "how long a text may wait for company (default: 0)", integerFrom(0))
    .option("--max-queue-size <count>", "texts that may wait before new ones are refused (default: 10000)", positive)
    .option("--timeout-ms <ms>", "deadline of a text from its arrival; unset: none", positive)
    .action(async ({ modelDir, port, ...flags }: ServeFlags) => {
      await serve({
        ...flags,
        ...(modelDir === undefined ? {} : { modelDirectory: modelDir }),
        port: port ?? DEFAULT_PORT,
        portAsked: port !== undefined,
      });
    });
}

async function main(): Promise<void> {
  const program = new Command("batchwise").description("Single requests come in, full batches go out.");
  program.addCommand(serveCommand());
  try {
    await program.parseAsync();
  } catch (error) {
    console.error(`batchwise: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

await main();

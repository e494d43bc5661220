// The arguments of `batchwise serve`. The service is loaded only when it starts, so that other
// commands do not need its models' runtime, an optional peer dependency.

import { POOLINGS, type Pooling } from "batchwise/onnx";
import { Command, Option } from "commander";
import { integerFrom } from "./common/arguments.ts";
import { expectPackage } from "./common/packages.ts";

const DEFAULT_PORT = 8080;
/** `skip` leaves out a download of libraries for GPUs. */
const INSTALL_RUNTIME = "ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node@1";

interface ServeFlags {
  readonly port?: number;
  readonly host: string;
  readonly model?: string;
  readonly tokenizer?: string;
  readonly modelDir?: string;
  readonly modelName?: string;
  readonly maxTokens?: number;
  readonly truncate?: boolean;
  readonly tokenInput: boolean;
  readonly pooling?: Pooling;
  readonly workers?: number;
  readonly maxBatchTokens?: number;
  readonly maxBatchSize?: number;
  readonly batchAnyway?: boolean;
  readonly maxWaitMs?: number;
  readonly maxQueueSize?: number;
  readonly timeoutMs?: number;
  readonly targetLatencyMs?: number;
  readonly maxUploadBytes?: number;
  readonly keepAliveMs?: number;
  readonly maxConnections?: number;
  readonly drainDelayMs?: number;
  readonly accessLog?: "json" | "text";
  readonly allowHost?: readonly string[];
}

const positive = integerFrom(1);

export function serveCommand(): Command {
  return new Command("serve")
    .description("answer POST /v1/embeddings over HTTP, batching the texts of all callers")
    .addOption(
      new Option(
        "--port <port>",
        `port to listen on; unset: ${DEFAULT_PORT}, or a free one where that is taken; 0: a free one`,
      ).argParser(integerFrom(0, 65_535)),
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--model <path>", "an .onnx sentence encoder, or its folder; unset: a small one with random weights")
    .option("--tokenizer <path>", "the model's tokenizer.json; unset: the one beside the model")
    .option("--model-dir <path>", "where the built-in model is kept; unset: the user's cache folder")
    .option("--model-name <name>", "the model's name in requests; unset: taken from the file")
    .option("--max-tokens <count>", "longest text in tokens; unset: what the model's files say", positive)
    .option("--truncate", "cut texts that are too long; unset: refuse them")
    .option("--no-token-input", "refuse token ids in place of texts")
    .addOption(
      new Option("--pooling <how>", "how the vectors of tokens become one; unset: as the model's files say").choices(
        POOLINGS,
      ),
    )
    .option("--workers <count>", "threads with a model each; unset: as many as the cores that it may use", positive)
    .option("--max-batch-tokens <count>", "cap on a batch's padded tokens; unset: learned", positive)
    .option("--max-batch-size <count>", "cap on a batch's texts; 1: no batching", positive)
    .option("--batch-anyway", "batch also where a text's vector depends on its batch, as in int8 graphs")
    .option("--max-wait-ms <ms>", "how long a text may wait for a fuller batch (default: 0)", integerFrom(0))
    .option("--max-queue-size <count>", "texts that may wait before new ones are refused (default: 10000)", positive)
    .option("--timeout-ms <ms>", "deadline of a text from its arrival; unset: none", positive)
    .option(
      "--target-latency-ms <ms>",
      "answer texts within so long, and refuse those that cannot be (429); unset: none",
      positive,
    )
    .option("--max-upload-bytes <bytes>", "request bodies held at one time, in sum (default: 67108864)", positive)
    .option("--keep-alive-ms <ms>", "how long an idle connection stays open (default: 65000)", positive)
    .option(
      "--max-connections <count>",
      "connections open at once; unset: what the limit on open files allows",
      positive,
    )
    .option("--drain-delay-ms <ms>", "on a stop, health checks fail for so long first (default: 0)", integerFrom(0))
    .option("--allow-host <name...>", "other host names that it accepts; '*' for any")
    .addOption(new Option("--access-log <format>", "a line a request on standard output").choices(["json", "text"]))
    .action(async ({ modelDir, port, ...flags }: ServeFlags) => {
      expectPackage("onnxruntime-node", INSTALL_RUNTIME, "batchwise serve");
      const { serve } = await import("./serve.ts");
      await serve({
        ...flags,
        ...(modelDir === undefined ? {} : { modelDirectory: modelDir }),
        port: port ?? DEFAULT_PORT,
        portAsked: port !== undefined,
      });
    });
}

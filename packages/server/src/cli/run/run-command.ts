// The arguments of `batchwise run`.

import { Command, InvalidArgumentError, Option } from "commander";
import { integerFrom, withAccount, withStore } from "../common/arguments.ts";
import { jobOf } from "./input-file.ts";
import type { Price } from "./run-figures.ts";
import type { RunFlags } from "./run-flags.ts";

export function runCommand(): Command {
  const positive = integerFrom(1);
  const command = new Command("run")
    .description(
      "send the requests of a JSONL file through a provider's Batch API; the same command continues after a stop",
    )
    .argument("<input>", "one request a line: a line of an OpenAI batch file, { id?, body }, or a body")
    .option("--output <file>", "outcomes, one a line; written anew at each run (default: <input>.outcomes.jsonl)")
    .option("--job <name>", "what the run is resumed by; unset: the input's file name without its extension")
    .option("--model <name>", "for requests that name none")
    .addOption(
      new Option(
        "--on-change <what>",
        "where an earlier run of the job had another --model; keep: for new requests only",
      )
        .choices(["refuse", "keep"])
        .default("refuse"),
    )
    .addOption(new Option("--format <form>", "lines of the output").choices(["openai", "full"]).default("openai"))
    .option(
      "--price <input/output>",
      "what a batch costs, in dollars for a million tokens, such as 0.05/0.20; unset: known where the model is",
      price,
    )
    .option("--max-requests <count>", "most requests of a batch (default: 50000)", positive)
    .option("--lease-ms <ms>", "how long others wait for a killed process's batches (default: 90000)", positive)
    .option("--file-mode <octal>", "permissions of a SQLite store that is made (default: 600)", fileMode)
    .option("--force", "write over an output that holds something else");
  return withAccount(withStore(command)).action(async (input: string, flags: RunFlags) => {
    const { run } = await import("./run.ts");
    process.exitCode = await run({ input, job: flags.job ?? jobOf(input), flags });
  });
}

function fileMode(text: string): number {
  if (/^0?[67][0-7]{2}$/.test(text)) return Number.parseInt(text, 8);
  throw new InvalidArgumentError("Expected three octal digits with which the owner reads and writes, such as 660.");
}

function price(text: string): Price {
  const [, input, output] = /^(\d*\.?\d+)\/(\d*\.?\d+)$/.exec(text) ?? [];
  if (input !== undefined && output !== undefined) return { input: Number(input), output: Number(output) };
  throw new InvalidArgumentError("Expected two prices in dollars, for input and output, such as 0.05/0.20.");
}

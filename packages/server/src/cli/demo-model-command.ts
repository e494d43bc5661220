// The arguments of `batchwise demo-model`. Needs no runtime of models.

import { Command } from "commander";
import { CommandError, EXIT } from "./common/failures.ts";
import { counted } from "./common/print.ts";
import { print } from "./common/terminal.ts";

export function demoModelCommand(): Command {
  return new Command("demo-model")
    .description("write a small text model with random weights, to try `serve` and batchwise/onnx with")
    .argument("<folder>", "where model.onnx and tokenizer.json are written; made where it is not there")
    .action(async (folder: string) => {
      const { ForeignFileError, writeDemoModel } = await import("../models/demo-model.ts");
      const written = await writeDemoModel(folder).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        const isForeign = error instanceof ForeignFileError;
        const message = isForeign ? reason : `Cannot write the model to ${folder}: ${reason}`;
        throw new CommandError(message, isForeign ? EXIT.usage : EXIT.failed, error);
      });
      for (const { path, bytes } of written) print(`${path}  ${counted(bytes)} bytes`);
      print("Its weights are random: texts that share words are near each other, and nothing is understood.");
      print(`Serve it: batchwise serve --model ${folder}`);
    });
}

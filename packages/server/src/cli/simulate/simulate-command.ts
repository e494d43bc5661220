// The arguments of `batchwise simulate`. Without any, it simulates an example and says how to
// describe a service.

import { readFile, writeFile } from "node:fs/promises";
import { Command, Option } from "commander";
import { integerFrom } from "../common/arguments.ts";
import { CommandError, EXIT } from "../common/failures.ts";
import { print, printJson, redraw } from "../common/terminal.ts";
import {
  aboveZero,
  loadList,
  merged,
  noiseShare,
  numberFrom,
  OPTIONS,
  optionSet,
  points,
  type SimulateFlags,
} from "./flags.ts";
import { parseScenario, type ScenarioFile } from "./scenario.ts";
import { reportOf } from "./words.ts";

const EXAMPLES = `
Examples:
  batchwise simulate                                      an example service at 0.25 to 2 times what it can serve
  batchwise simulate --fixed-ms 10 --item-ms 0.5 --rate 400 --target-ms 100
                                                          your service at up to twice its 400 items a second
  batchwise simulate --run-ms 1:12,8:15,64:60 --html out.html
                                                          by run times that you have measured, as a page with plots
  batchwise simulate --compare target-latency-ms=200      two sets of options side by side
  batchwise simulate scenario.json                        all that simulate() takes: docs/simulate.md`;

export function simulateCommand(): Command {
  const command = new Command("simulate")
    .description("what would happen to a batched service at up to twice the load, in virtual time")
    .argument("[scenario]", "a JSON file with service, arrivals, options, loads …; flags replace what it says")
    .option("--fixed-ms <ms>", "time of a call besides its items (default: 20)", numberFrom(0))
    .option("--item-ms <ms>", "time of each item (default: 1)", numberFrom(0))
    .option("--run-ms <points>", "measured run times in place of these: size:ms,size:ms …", points)
    .option("--noise <share>", "how far run times vary: 0.1 is 10 % (default: 0.1)", noiseShare)
    .option("--rate <count>", "items a second at load 1; unset: what can be served in time", aboveZero)
    .addOption(
      new Option("--arrivals <kind>", "independent callers, bursts of 3 times the rate, or several items at once")
        .choices(["poisson", "bursts", "bunches"])
        .default("poisson"),
    )
    .option("--bunch-size <count>", "items at once with --arrivals bunches", integerFrom(1), 8)
    .option("--target-ms <ms>", "an answer within this is in time; unset: the target or deadline, else 200", aboveZero);
  for (const [flag, parse, words] of Object.values(OPTIONS)) command.option(flag, `batcher: ${words}`, parse);
  return command
    .option("--compare <options>", "simulate other options beside: name=value,name=value", optionSet)
    .option("--loads <list>", "multiples of the rate (default: 0.25,0.5 … 2)", loadList)
    .option("--seconds <count>", "virtual time a load; unset: 0.5 to 30, by the rate", aboveZero)
    .option("--seed <number>", "of arrivals and noise (default: 1)", integerFrom(0))
    .option("--attempts <count>", "most tries of a caller who is refused (default: 1)", integerFrom(1))
    .option("--html <file>", "write a page with plots")
    .option("--json", "print JSON")
    .addHelpText("after", EXAMPLES)
    .action(async (path: string | undefined, flags: SimulateFlags) => {
      const file = path === undefined ? {} : parseScenario(await textOf(path), path);
      await simulateLoads(merged(file, flags, command), flags);
    });
}

async function simulateLoads(given: ScenarioFile, { html, json }: SimulateFlags): Promise<void> {
  const { sweepAll } = await import("./sweep.ts");
  const show = (line: string): void => {
    if (process.stderr.isTTY) redraw(line);
  };
  const simulation = await sweepAll(given, (load) => show(`load ${load} …`));
  show("");
  if (html !== undefined) {
    const { pageOf } = await import("./page.ts");
    await writeFile(html, pageOf(simulation)).catch((error: unknown) => {
      throw new CommandError(`Cannot write ${html}: ${(error as Error).message}`, EXIT.failed, error);
    });
  }
  if (json) printJson(simulation);
  else print([...reportOf(simulation), ...(html === undefined ? [] : ["", `Plots: ${html}`])]);
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new CommandError(`Cannot read the scenario ${path}: ${(error as Error).message}`);
  }
}

// The arguments of `batchwise jobs …`, the operator's commands for a store. Each action is in its
// own file.

import { Argument, Command, Option } from "commander";
import { integerFrom, type StoreFlags, span, withAccount, withStore } from "../common/arguments.ts";
import type {
  CancelFlags,
  DoctorFlags,
  ListFlags,
  OutcomesFlags,
  PruneFlags,
  RequeueFlags,
  RetryFlags,
} from "./jobs-flags.ts";

const STATUSES = ["succeeded", "failed", "cancelled", "expired"];

export function jobsCommand(): Command {
  const command = new Command("jobs").description(
    "inspect a store of batchwise/dispatch, and decide about its batches",
  );
  for (const child of [list(), inspect(), outcomes(), retry(), cancel(), requeue(), prune(), doctor()])
    command.addCommand(child);
  return command;
}

function list(): Command {
  return withStore(new Command("list").description("jobs, what waits, and batches"))
    .option("--limit <count>", "most batches to list, newest first", integerFrom(1), 20)
    .action(async (flags: ListFlags) => {
      const { list } = await import("./list.ts");
      await list(flags);
    });
}

function inspect(): Command {
  return withStore(new Command("inspect").description("all that is known of a request, a batch or a job"))
    .argument("<name>", "a request's id, a batch's key, or a job's name")
    .action(async (name: string, flags: StoreFlags) => {
      const { inspect } = await import("./inspect.ts");
      await inspect(name, flags);
    });
}

function outcomes(): Command {
  return withStore(new Command("outcomes").description("the outcomes recorded so far, as JSONL"))
    .option("--job <name>", "of this job alone")
    .addOption(statusOption(STATUSES))
    .option("--after <cursor>", "only later ones", integerFrom(0), 0)
    .option("--output <file>", "unset: standard output")
    .option("--force", "write over an output that holds something else")
    .addOption(new Option("--format <form>", "of the lines").choices(["openai", "full"]).default("full"))
    .action(async (flags: OutcomesFlags) => {
      const { outcomes } = await import("./outcomes.ts");
      await outcomes(flags);
    });
}

function statusOption(statuses: readonly string[]): Option {
  return new Option("--status <status>", "only those that ended so").choices([...statuses]);
}

function withRequests(command: Command): Command {
  return withStore(command)
    .argument("[ids...]", "of requests")
    .option("--job <name>", "all of this job")
    .option("--tenant <name>", "all of this tenant")
    .option("--batch <key>", "all of this batch");
}

function retry(): Command {
  return withRequests(new Command("retry").description("let requests run again that ended without success"))
    .addOption(statusOption(["failed", "cancelled", "expired"]))
    .option("--code <code>", "only those whose error has this code")
    .action(async (ids: string[], flags: RetryFlags) => {
      const { retry } = await import("./retry.ts");
      await retry(ids, flags);
    });
}

function cancel(): Command {
  return withRequests(new Command("cancel").description("cancel requests that have not ended")).action(
    async (ids: string[], flags: CancelFlags) => {
      const { cancel } = await import("./cancel.ts");
      await cancel(ids, flags);
    },
  );
}

function requeue(): Command {
  return withStore(new Command("requeue").description("send the requests of quarantined batches again"))
    .addArgument(new Argument("[keys...]", "of quarantined batches, as `jobs list` shows them"))
    .option("--all", "of all quarantined batches")
    .option("--resume", "continue the batches where they stopped instead, with another look at the provider's")
    .action(async (keys: string[], flags: RequeueFlags) => {
      const { requeue } = await import("./requeue.ts");
      await requeue(keys, flags);
    });
}

function prune(): Command {
  return withStore(new Command("prune").description("let go of old outcomes; ids stay, so that nothing runs again"))
    .requiredOption("--older-than <span>", "recorded so long ago: 12h, 30d", span)
    .addOption(new Option("--status <status...>", "only those that ended so").choices([...STATUSES]))
    .action(async (flags: PruneFlags) => {
      const { prune } = await import("./prune.ts");
      await prune(flags);
    });
}

function doctor(): Command {
  const command = new Command("doctor").description(
    "check Node.js, the store, the account and the work, and say what to do",
  );
  return withAccount(withStore(command)).action(async (flags: DoctorFlags) => {
    const { doctor } = await import("./doctor.ts");
    process.exitCode = await doctor(flags);
  });
}

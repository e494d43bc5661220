// Reports the end of `batchwise run`: as text on standard error, or with --json as one object on
// standard output.

import { quoted, storeFlag, thisCommand } from "../common/command-line.ts";
import { counted, dollars, listed, plural } from "../common/print.ts";
import { printJson, warn } from "../common/terminal.ts";
import type { RunFigures } from "./run-figures.ts";
import type { RunFlags } from "./run-flags.ts";

export interface RunEnd {
  readonly figures: RunFigures;
  /** Keys of quarantined batches. */
  readonly aside: readonly string[];
  readonly isStopped: boolean;
  readonly input: string;
  readonly output: string;
  /** The file with an earlier run's lines, if this run has not written all of them again. */
  readonly previous: string | null;
  readonly job: string;
  readonly flags: RunFlags;
}

export function printEnd(end: RunEnd): void {
  if (end.flags.json === true) printJson(endObject(end));
  else warn(endLines(end));
}

/** The object of `--json`. */
function endObject({ figures, aside, isStopped, input, output, job }: RunEnd): object {
  const { total, written, ended, inputTokens, outputTokens, cost } = figures;
  return {
    ...{ job, input, output, requests: total, outcomes: written, waiting: Math.max(0, total - written), ...ended },
    ...{ inputTokens, outputTokens, cost, stopped: isStopped, quarantined: aside },
  };
}

function endLines(end: RunEnd): string[] {
  const { figures, aside, isStopped, output, job } = end;
  const { total, written, cost } = figures;
  const tokens = `${counted(figures.inputTokens)} tokens in, ${counted(figures.outputTokens)} out`;
  const lines = [`${output}: ${plural(written, "outcome")} (${listed(figures.ended) || "none"}), ${tokens}`];
  if (cost !== null) lines[0] += `, ${dollars(cost)}`;
  if (figures.unsuccessful > 0 && !isStopped) {
    const retry = `batchwise jobs retry --job ${quoted(job)}${storeFlag(end.flags.store)}`;
    lines.push(`Not all succeeded. To let them run again: ${retry}, then the same command again.`);
  }
  if (aside.length > 0) {
    const store = storeFlag(end.flags.store);
    lines.push(
      `${plural(total - written, "request")} wait for a person, in ${plural(aside.length, "quarantined batch", "quarantined batches")}.`,
    );
    lines.push(`Why: batchwise jobs inspect ${aside[0]}${store}`);
    lines.push(`To send them again: batchwise jobs requeue ${aside.join(" ")}${store}, then the same command again.`);
  }
  if (isStopped) {
    lines.push(
      `Stopped: ${counted(written)} of ${counted(total)} done. The provider continues with its batches; nothing is lost.`,
    );
    lines.push(`To continue: ${thisCommand()}`);
  } else if (aside.length === 0 && written < total) {
    lines.push(
      `${plural(total - written, "request")} of job "${job}" have no outcome in this store: were they pruned?${before(end)}`,
    );
  }
  return lines;
}

function before({ previous }: RunEnd): string {
  return previous === null ? "" : ` ${previous} has what an earlier run wrote.`;
}

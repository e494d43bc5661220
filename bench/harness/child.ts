/**
 * Runs one contender in its own process and reads its single line of JSON.
 *
 * Guarantees that no contender shares a heap, compiled code or a garbage collector with another. A
 * child that fails, hangs or prints anything else ends the bench with its name and its output.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const childFile = fileURLToPath(new URL("../contender.ts", import.meta.url));

export interface Job {
  readonly workload: string;
  readonly contender: string;
  readonly settings: Settings;
  /** Flags for node itself, placed before the file. */
  readonly flags?: readonly string[];
}

export type Settings = Readonly<Record<string, number>>;
export type Measurement = Readonly<Record<string, number>>;

const longestMs = 120_000;

export function runContender(job: Job): Promise<Measurement> {
  const args = [...(job.flags ?? []), childFile, job.workload, job.contender, JSON.stringify(job.settings)];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], timeout: longestMs });
    let output = "";
    let complaint = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk;
    });
    child.stderr.on("data", (chunk: Buffer) => {
      complaint += chunk;
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      const line = output.trim().split("\n").at(-1) ?? "";
      if (code === 0 && line.startsWith("{")) resolve(JSON.parse(line) as Measurement);
      else reject(new Error(`${job.workload} ${job.contender} ended with ${code ?? signal}\n${output}${complaint}`));
    });
  });
}

/**
 * Runs store measures in processes of their own and keeps the figures of each round. All are of one
 * store.
 */
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import type { Progress } from "../harness/rounds.ts";

const run = promisify(execFile);
/**
 * Caches Node's compiled TypeScript, so that only the first measure carries the 20 MB that
 * compiling needs.
 */
const env = { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), "batchwise-bench-compiled") };
const program = fileURLToPath(new URL("../dispatch-store.ts", import.meta.url));

/** A ratio is computed within one round, from two processes that ran seconds apart. */
export class Rounds {
  readonly #seen = new Map<string, Measurement[]>();
  readonly #progress: Progress;
  readonly #store: string;

  constructor(progress: Progress, store = "sqlite") {
    this.#progress = progress;
    this.#store = store;
  }

  /** `count`: number of requests; default: the measure's own. */
  async add(name: string, count?: number): Promise<void> {
    const args = ["--no-warnings", program, "--measure", name, "--store", this.#store];
    if (count !== undefined) args.push("--count", String(count));
    const { stdout } = await run(process.execPath, args, { env });
    this.#progress(`${this.#store} ${name} ${stdout.trim()}`);
    this.#seen.set(name, [...(this.#seen.get(name) ?? []), JSON.parse(stdout) as Measurement]);
  }

  of(name: string, field: string): number {
    return median(this.#all(name, field));
  }

  ratio(name: string, base: string, field = "perSecond"): number {
    const bases = this.#all(base, field);
    return median(this.#all(name, field).map((value, round) => value / (bases[round] ?? Number.NaN)));
  }

  #all(name: string, field: string): number[] {
    return (this.#seen.get(name) ?? []).map((one) => one[field] ?? Number.NaN);
  }
}

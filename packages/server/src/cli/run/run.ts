// `batchwise run`: reads a file of requests and writes a file of outcomes. All state is in the
// store, so the same command continues after Ctrl-C, kill -9 or a crash, and pays for nothing
// twice.

import {
  type Account,
  createDispatcher,
  DispatchError,
  type Dispatcher,
  type ErrorContext,
  keepJobDefaults,
  type LoggedOutcome,
  QuarantinedError,
  writeOutcomes,
} from "batchwise/dispatch";
import { checkAccount } from "../accounts/account-fault.ts";
import { openAccount } from "../accounts/open-account.ts";
import { CommandError, EXIT, wordsOf } from "../common/failures.ts";
import { plural, counted as thousands } from "../common/print.ts";
import { onStopSignal } from "../common/stop-signals.ts";
import { checkIsNotStore, type OpenStore, openStore } from "../common/stores.ts";
import { warn } from "../common/terminal.ts";
import { enqueueFile } from "./enqueue-file.ts";
import { checkInput, fileId } from "./input-file.ts";
import { type OutputFile, takeOutput } from "./output-file.ts";
import { Progress } from "./progress.ts";
import { progressParts, RunFigures } from "./run-figures.ts";
import type { RunFlags } from "./run-flags.ts";
import { printEnd } from "./run-report.ts";

const SAID_AGAIN_MS = 60_000;

export interface RunOptions {
  readonly input: string;
  readonly job: string;
  readonly flags: RunFlags;
}

/** Returns the exit code. */
export async function run(options: RunOptions): Promise<number> {
  const { input, job, flags } = options;
  const total = await checkInput(input, job);
  const opened = await openAccount(flags);
  const output = flags.output ?? `${input.replace(/\.jsonl$/, "")}.outcomes.jsonl`;
  checkIsNotStore(output, flags.store);
  const file = takeOutput(output, input, flags.force === true);
  try {
    const store = await openStore(flags.store, {
      create: true,
      ...(flags.fileMode === undefined ? {} : { fileMode: flags.fileMode }),
    });
    try {
      await checkAccount(opened);
      return await new Run(options, output, file, store, opened.account).carryOut(total);
    } finally {
      await store.close();
    }
  } finally {
    file.release();
  }
}

class Run {
  readonly #options: RunOptions;
  readonly #output: string;
  readonly #file: OutputFile;
  readonly #store: OpenStore;
  readonly #dispatcher: Dispatcher;
  readonly #said: Map<string, number> = new Map();
  #progress: Progress | null = null;
  /** Whether requests of the file were in the store before this run. */
  #isRepeated = false;
  #signal: "SIGINT" | "SIGTERM" | null = null;

  constructor(options: RunOptions, output: string, file: OutputFile, store: OpenStore, account: Account) {
    this.#options = options;
    this.#output = output;
    this.#file = file;
    this.#store = store;
    const { maxRequests, leaseMs } = options.flags;
    this.#dispatcher = createDispatcher({
      ...{ store: store.store, accounts: [account], onError: (error, context) => this.#onError(error, context) },
      requestDefaults: defaultsOf(options.flags),
      ...(maxRequests === undefined ? {} : { thresholds: { maxRequests } }),
      ...(leaseMs === undefined ? {} : { leaseMs }),
      // No more requests will come, so a batch below the minimum would wait without end.
      ...(account.capabilities.limits.minRequests > 1 ? { onTail: "fail" as const } : {}),
    });
  }

  async carryOut(total: number): Promise<number> {
    const { input, job, flags } = this.#options;
    const figures = new RunFigures(total, flags.price ?? null, Date.now());
    const stopListening = onStopSignal((signal) => {
      this.#signal = signal;
      this.#say("Stopping. (Ctrl-C again: at once, which loses nothing either.)");
      void this.#dispatcher.stop();
    });
    try {
      this.#say(`${input}: ${plural(total, "request")}, job "${job}", store ${this.#store.name}`);
      const aside = await this.#work(figures);
      const unwritten = total - figures.written;
      if (unwritten <= 0) this.#file.complete();
      const isStopped = this.#signal !== null && unwritten > 0;
      printEnd({ figures, aside, isStopped, ...this.#options, output: this.#output, previous: this.#file.previous() });
      if (isStopped) return this.#signal === "SIGINT" ? EXIT.interrupted : EXIT.terminated;
      return figures.unsuccessful > 0 || aside.length > 0 || unwritten > 0 ? EXIT.attention : EXIT.done;
    } finally {
      stopListening();
      await this.#dispatcher.stop();
    }
  }

  /** Returns the keys of quarantined batches that hold the remaining outcomes back. */
  async #work(figures: RunFigures): Promise<readonly string[]> {
    try {
      await this.#keepDefaults();
      await this.#enqueue(figures.total);
      await this.#dispatcher.start();
      // All lines are in the store: no batch waits for more.
      this.#dispatcher.flush();
      await this.#collect(figures);
    } catch (error) {
      if (error instanceof QuarantinedError) return error.keys;
      // Stopped while it enqueued; everything enqueued is stored.
      if (this.#signal === null) throw error;
    }
    return [];
  }

  async #keepDefaults(): Promise<void> {
    const { job, flags } = this.#options;
    const given = { job, requestDefaults: defaultsOf(flags), onChange: flags.onChange };
    try {
      await keepJobDefaults(this.#store.store, given);
    } catch (error) {
      if (!(error instanceof DispatchError) || error.code !== "DEFAULTS_CHANGED") throw error;
      const what = `An earlier run of the job "${job}" had another --model, and this one would give its answers`;
      throw new CommandError(`${what}: pass another --job, or --on-change keep. Nothing was sent in this run.`);
    }
  }

  async #enqueue(total: number): Promise<void> {
    let [enqueued, known] = [0, 0];
    this.#progress = new Progress(async () => ({
      share: enqueued / total,
      parts: [
        `${thousands(enqueued)} of ${thousands(total)} in the store`,
        ...(known > 0 ? [`${thousands(known)} of them from an earlier run`] : []),
      ],
    }));
    try {
      const { input, job } = this.#options;
      await enqueueFile({
        ...{ dispatcher: this.#dispatcher, store: this.#store.store, input, job },
        onProgress: (now, before) => {
          [enqueued, known] = [now, before];
        },
      });
    } finally {
      this.#isRepeated = known > 0;
      await this.#endProgress();
    }
  }

  async #collect(figures: RunFigures): Promise<void> {
    const { flags } = this.#options;
    // The outcomes of an earlier run are read after the first look.
    let isTooEarly = this.#isRepeated;
    this.#progress = new Progress(async () => {
      const isDrawn = !isTooEarly;
      isTooEarly = false;
      if (!isDrawn) return null;
      const stats = await this.#dispatcher.stats();
      return { share: figures.written / figures.total, parts: progressParts(figures, stats, Date.now()) };
    });
    try {
      await writeOutcomes(this.#file.open(), this.#counted(figures), { format: flags.format });
    } finally {
      await this.#endProgress();
    }
  }

  async #endProgress(): Promise<void> {
    const progress = this.#progress;
    this.#progress = null;
    await progress?.end();
  }

  #say(text: string): void {
    if (this.#progress === null) warn(text);
    else this.#progress.say(text);
  }

  /** Prints the same message at most once a minute. */
  #onError(error: unknown, { account, batch, operation }: ErrorContext): void {
    const where = [operation, account, batch].filter((part) => part !== undefined).join(" ");
    const words = `${where}: ${wordsOf(error)}`;
    const now = performance.now();
    if (now - (this.#said.get(words) ?? Number.NEGATIVE_INFINITY) < SAID_AGAIN_MS) return;
    this.#said.set(words, now);
    this.#say(`Will be tried again: ${words}`);
  }

  /** Counts outcomes and yields them with the ids of the input, until a signal. */
  async *#counted(figures: RunFigures): AsyncGenerator<LoggedOutcome> {
    const { job } = this.#options;
    for await (const outcome of this.#dispatcher.outcomes({ job, untilIdle: true })) {
      // A stopped dispatcher would still yield all recorded outcomes.
      if (this.#signal !== null) return;
      yield { ...outcome, id: fileId(job, outcome.id) };
      figures.add(outcome);
    }
  }
}

function defaultsOf({ model }: RunFlags): { readonly model?: string } {
  return model === undefined ? {} : { model };
}

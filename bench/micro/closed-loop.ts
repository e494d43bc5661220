/**
 * W2: many callers, each submitting its next item as soon as the last one is answered. Here submits
 * come from promise jobs, as in a server, and not from a loop.
 */
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import type { Workload } from "../harness/workloads.ts";
import type { Loader, LoaderFactory } from "../peers/contract.ts";
import {
  createResultCounter,
  identityHandler,
  nextTurn,
  type ResultCounter,
  warmUpAndRepeat,
} from "./result-counter.ts";

type Config = { callers: number; loads: number; maxBatchSize: number; warmups: number; runs: number };

const defaults: Config = { callers: 10_000, loads: 30, maxBatchSize: 256, warmups: 6, runs: 5 };

/** One caller. A bound method submits the next item, so that a step creates no closure. */
class Caller {
  readonly #loader: Loader;
  readonly #counter: ResultCounter;
  readonly #next: (result: number) => void;
  #left: number;

  constructor(loader: Loader, counter: ResultCounter, loads: number) {
    this.#loader = loader;
    this.#counter = counter;
    this.#left = loads;
    this.#next = (result) => this.#answered(result);
  }

  start(value: number): void {
    this.#left -= 1;
    this.#loader.load(value).then(this.#next);
  }

  #answered(result: number): void {
    if (this.#left > 0) this.start(result);
    this.#counter.settle(result);
  }
}

async function measure(make: LoaderFactory, config: Config): Promise<Measurement> {
  const { callers, loads, maxBatchSize } = config;
  const counter = createResultCounter();
  const { handler, takeBatches } = identityHandler();
  const loader = make(handler, { maxBatchSize, slots: Number.POSITIVE_INFINITY, windowMs: 0, queue: 10_000 });
  const expected = loads * ((callers * (callers - 1)) / 2);
  let batches = 0;
  const times = await warmUpAndRepeat(config.warmups, config.runs, async () => {
    const crowd = Array.from({ length: callers }, () => new Caller(loader, counter, loads));
    await nextTurn();
    takeBatches();
    const finished = counter.expect(callers * loads);
    const started = performance.now();
    for (let at = 0; at < callers; at += 1) crowd[at]?.start(at);
    await finished;
    const elapsed = performance.now() - started;
    batches = takeBatches();
    counter.check(expected);
    return (elapsed * 1e6) / (callers * loads);
  });
  return { nsPerItem: median(times), batches };
}

export const closedLoop: Workload<Config> = { defaults, measure };

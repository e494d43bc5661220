/**
 * A single item on an idle engine: microseconds from the submit to the first line of the handler,
 * and to the answer.
 *
 * Each submit comes from its own timer, while nothing waits and nothing runs. The warm-up submits
 * come from turns of the event loop instead, so that many of them take little time.
 */
import type { Measurement } from "../harness/child.ts";
import { quantile } from "../harness/numbers.ts";
import type { Workload } from "../harness/workloads.ts";
import type { LoaderFactory } from "../peers/contract.ts";
import { nextTurn } from "./result-counter.ts";

type Config = { samples: number; warmups: number };

function nextTimer(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

async function measure(make: LoaderFactory, { samples, warmups }: Config): Promise<Measurement> {
  let enteredAt = 0;
  const loader = make(
    async (items) => {
      enteredAt = performance.now();
      return items;
    },
    { maxBatchSize: 100, slots: 1, windowMs: 0, queue: 10_000 },
  );
  const toHandler: number[] = [];
  const toAnswer: number[] = [];
  for (let at = -warmups; at < samples; at += 1) {
    await (at < 0 ? nextTurn() : nextTimer());
    const submittedAt = performance.now();
    const result = await loader.load(at);
    const answeredAt = performance.now();
    if (result !== at) throw new Error(`Expected the result ${at}, got ${result}`);
    if (at < 0) continue;
    toHandler.push((enteredAt - submittedAt) * 1000);
    toAnswer.push((answeredAt - submittedAt) * 1000);
  }
  return {
    toHandlerUs: quantile(toHandler, 0.5),
    toHandlerP99Us: quantile(toHandler, 0.99),
    toAnswerUs: quantile(toAnswer, 0.5),
  };
}

export const loneItem: Workload<Config> = { defaults: { samples: 1_000, warmups: 10_000 }, measure };

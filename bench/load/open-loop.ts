/**
 * An open loop: callers arrive at the times of a schedule, whether or not earlier ones have been
 * answered.
 *
 * Latency counts from the scheduled arrival, so a loop that falls behind cannot hide it. Callers
 * without an answer at the end of the grace period count with their age, so that leaving callers
 * out never improves a quantile.
 */
import type { Measurement } from "../harness/child.ts";
import { quantile } from "../harness/numbers.ts";
import type { Loader } from "../peers/contract.ts";
import type { Pulse } from "./pulse.ts";
import type { Service } from "./service.ts";

export interface OpenLoop {
  readonly loader: Loader;
  readonly service: Service;
  readonly pulse: Pulse;
  readonly arrivals: Float64Array;
  /** Time from the start to the last possible arrival. */
  readonly durationMs: number;
  /** Time after that in which an answer still counts. */
  readonly graceMs: number;
}

export async function runOpenLoop(loop: OpenLoop): Promise<Measurement> {
  const { loader, service, pulse, arrivals, durationMs, graceMs } = loop;
  const latencies = new Float64Array(arrivals.length).fill(Number.NaN);
  const start = performance.now() + 5;
  let answered = 0;
  let answeredInTime = 0;

  await new Promise<void>((resolve) => {
    function answer(at: number): void {
      const now = performance.now();
      if (!Number.isNaN(latencies[at])) throw new Error(`Answered twice, or with a wrong result: ${at}`);
      latencies[at] = now - start - (arrivals[at] as number);
      answered += 1;
      if (now - start <= durationMs) answeredInTime += 1;
      if (answered === arrivals.length) resolve();
    }
    function arrive(at: number): void {
      loader.load(at).then(answer);
      if (at + 1 < arrivals.length) pulse.at(start + (arrivals[at + 1] as number), () => arrive(at + 1));
    }
    pulse.at(start + (arrivals[0] as number), () => arrive(0));
    pulse.at(start + durationMs + graceMs, resolve);
  });

  const end = performance.now() - start;
  const all = Array.from(latencies, (value, at) => (Number.isNaN(value) ? end - (arrivals[at] as number) : value));
  const { calls, items } = service.counts();
  return {
    p50Ms: quantile(all, 0.5),
    p99Ms: quantile(all, 0.99),
    meanBatch: items / calls,
    answeredShare: answered / arrivals.length,
    donePerSecond: (answeredInTime * 1000) / durationMs,
    offered: arrivals.length,
  };
}

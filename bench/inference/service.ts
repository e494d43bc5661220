/**
 * One embeddings service of the inference benchmark, in its own process, started by services.ts. It
 * reports its port, accepts new limits while it runs, and reports on request the delay of its event
 * loop and the sizes of its batches since the last report.
 *
 *   node bench/inference/service.ts OPTIONS_AS_JSON
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { startService } from "../../packages/server/src/http/service.ts";

const options = JSON.parse(process.argv[2] ?? "{}");
const service = await startService({ ...options, modelName: "batchwise-bench", port: 0 });
const { batcher } = service.embedder;
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let cpu = process.cpuUsage();
process.on("message", (limits: object | "report") => {
  if (limits !== "report") batcher.configure(limits);
  const { averageBatchSize, batchCost, completed } = batcher.stats();
  const { user, system } = process.cpuUsage(cpu);
  process.send?.({
    loopDelayP99Ms: delay.percentile(99) / 1e6,
    rows: averageBatchSize,
    cost: batchCost.mean,
    cpuMs: (user + system) / 1_000 / completed,
  });
  cpu = process.cpuUsage();
  batcher.resetStats();
  delay.reset();
});
process.on("disconnect", () => process.exit());
process.send?.({ port: service.port });

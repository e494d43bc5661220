/**
 * One embeddings service of the inference benchmark, in a process of its own, started by services.ts. Says its port, and
 * when it is asked, how late its event loop was since the last time.
 *
 *   node bench/inference/service.ts OPTIONS_AS_JSON
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { startService } from "../../packages/server/src/http/service.ts";

const options = JSON.parse(process.argv[2] ?? "{}");
const service = await startService({ ...options, port: 0 });
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.on("message", () => {
  process.send?.({ loopDelayP99Ms: delay.percentile(99) / 1e6 });
  delay.reset();
});
process.on("disconnect", () => process.exit());
process.send?.({ port: service.port });

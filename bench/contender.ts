/**
 * Runs one contender under one load in this process; prints the figures as one line of JSON.
 *
 *   node bench/contender.ts w1 batchwise-plain
 *   node --cpu-prof bench/contender.ts w3 batchwise-deadlines '{"runs":3}'
 *
 * The third argument overrides the load's settings; bench/README.md lists loads and contenders.
 */
import { findWorkload } from "./harness/workloads.ts";

const [workloadName = "", contenderName = "", settingsText = "{}"] = process.argv.slice(2);

const workload = await findWorkload(workloadName);
const measured = await workload.measure(contenderName, {
  ...workload.defaults,
  ...(JSON.parse(settingsText) as Record<string, number>),
});
// After an overload, thousands of calls are still open; exit without waiting for them.
process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit());

/**
 * One contender under one load, in this process; the figures go out as one line of JSON.
 *
 *   node bench/contender.ts w1 batchwise-plain
 *   node --cpu-prof bench/contender.ts w3 batchwise-deadlines '{"runs":3}'
 *
 * The third argument overrides the load's settings; bench/README.md lists what there is.
 */
import { findWorkload } from "./harness/workloads.ts";

const [workloadName = "", contenderName = "", settingsText = "{}"] = process.argv.slice(2);

const workload = await findWorkload(workloadName);
const measured = await workload.measure(contenderName, {
  ...workload.defaults,
  ...(JSON.parse(settingsText) as Record<string, number>),
});
// An overloaded contender leaves thousands of calls behind that nobody waits for any more.
process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit());

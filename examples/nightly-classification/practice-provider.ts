// A provider to practise with: batchwise's strict fake, which answers with what it was asked, in a process of its own, so
// that its batches outlive an example that is killed. Writes its address into a file. Ends after an hour.

import { renameSync, writeFileSync } from "node:fs";
import { fakeProvider } from "batchwise/dispatch/testing";

const [, , file = "practice-provider.json"] = process.argv;
// Each batch takes longer than the one before, so that there is time to interrupt.
const fake = fakeProvider({ plan: ({ index }) => ({ validateMs: 400, runMs: 3_000 * (index + 1), finalizeMs: 200 }) });
const { url } = await fake.listen();
writeFileSync(`${file}.new`, JSON.stringify({ url, pid: process.pid }));
renameSync(`${file}.new`, file);
setTimeout(() => process.exit(), 3_600_000);

// Writes the Grafana dashboard and the Prometheus alert rules of packages/batchwise/grafana. Run it
// after a change of a series, or of scripts/grafana; a test compares.

import { writeFileSync } from "node:fs";
import { grafanaFiles } from "./grafana/files.ts";

for (const [path, text] of Object.entries(grafanaFiles())) writeFileSync(new URL(`../${path}`, import.meta.url), text);

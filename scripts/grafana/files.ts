// The files for Grafana and Prometheus, as text. Each exists twice: with the names that the
// Prometheus exporter of OpenTelemetry's JavaScript SDK gives to series, and with the names of a
// pipeline that adds units, such as the OpenTelemetry Collector and Prometheus' own OTLP endpoint.

import { alertRules } from "./alerts.ts";
import { dashboard } from "./dashboard.ts";
import { withUnits } from "./names.ts";

const FOLDER = "packages/batchwise/grafana/";

/** Each file's text by its path in the repository. */
export function grafanaFiles(): Record<string, string> {
  const board = `${JSON.stringify(dashboard(), undefined, 2)}\n`;
  const rules = alertRules();
  return {
    [`${FOLDER}dashboard.json`]: board,
    [`${FOLDER}dashboard-otlp.json`]: withUnits(board).replace('"batchwise"', '"batchwise-otlp"'),
    [`${FOLDER}alerts.yml`]: rules,
    [`${FOLDER}alerts-otlp.yml`]: withUnits(rules),
  };
}

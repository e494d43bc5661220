// Prometheus' own programs: `promtool`, which checks and tests rules, and a server on a free port
// of loopback that scrapes one address every second. Finds the programs or installs them; throws if
// it can do neither.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, type Service, startProgram, stopProgram } from "./processes.ts";
import { folderOf } from "./programs.ts";

const wanted = { programs: ["prometheus", "promtool"], packages: ["prometheus"], what: "Prometheus" };

export interface ToolAnswer {
  readonly status: number | null;
  readonly output: string;
}

export interface PrometheusService extends Service {
  /** The folder of its settings and data. */
  readonly folder: string;
}

/** The folder of the programs; installs them if they are missing. */
export function programsFolder(): string {
  return folderOf(wanted);
}

export function runPromtool(folder: string, args: readonly string[]): ToolAnswer {
  const { status, stdout, stderr } = spawnSync(join(folder, "promtool"), args, { encoding: "utf8" });
  return { status, output: stdout + stderr };
}

/** A Prometheus that scrapes `/metrics` on a port of this machine. */
export async function startPrometheus(scraped: number): Promise<PrometheusService> {
  const program = join(programsFolder(), "prometheus");
  const folder = mkdtempSync(join(tmpdir(), "batchwise-prometheus-"));
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const jobs = [{ job_name: "batchwise", static_configs: [{ targets: [`127.0.0.1:${scraped}`] }] }];
  // JSON is valid YAML.
  const settings = { global: { scrape_interval: "1s", scrape_timeout: "1s" }, scrape_configs: jobs };
  writeFileSync(join(folder, "prometheus.yml"), JSON.stringify(settings));
  const files = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  const isReady = async (): Promise<boolean> => (await fetch(`http://${address}/-/ready`)).ok;
  const child = await startProgram([program, ...files, `--web.listen-address=${address}`], folder, isReady);
  return {
    port,
    folder,
    stop: async () => {
      await stopProgram(child, "SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

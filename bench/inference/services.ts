/**
 * The services that the inference benchmark compares: each in a process of its own, all started beforehand, one under
 * load at a time. Ended by their ids, with the benchmark.
 */
import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Mix } from "./mixes.ts";

const SERVICE = fileURLToPath(new URL("service.ts", import.meta.url));
const CLIENTS = fileURLToPath(new URL("clients.ts", import.meta.url));

export interface Load {
  readonly clients: number;
  readonly mix: Mix;
  readonly warmUpMs: number;
  readonly durationMs: number;
  readonly seed: number;
}

export interface Figures {
  /** Texts a second. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How late the service's event loop was, at the 99th percentile. */
  readonly loopDelayP99Ms: number;
}

export class RunningService {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #port: number;

  private constructor(name: string, child: ChildProcess, port: number) {
    this.name = name;
    this.#child = child;
    this.#port = port;
  }

  static async start(name: string, options: object): Promise<RunningService> {
    const child = fork(SERVICE, [JSON.stringify(options)], { execArgv: ["--no-warnings"] });
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    return new RunningService(name, child, port);
  }

  async measure({ clients, mix, warmUpMs, durationMs, seed }: Load): Promise<Figures> {
    await this.#loopDelayP99Ms();
    const args = [this.#port, clients, mix, warmUpMs, durationMs, seed].map(String);
    const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", CLIENTS, ...args]);
    return { ...(JSON.parse(stdout) as Omit<Figures, "loopDelayP99Ms">), loopDelayP99Ms: await this.#loopDelayP99Ms() };
  }

  async #loopDelayP99Ms(): Promise<number> {
    this.#child.send("report");
    const [{ loopDelayP99Ms }] = (await once(this.#child, "message")) as [{ loopDelayP99Ms: number }];
    return loopDelayP99Ms;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}

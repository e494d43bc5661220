/**
 * The services that the inference benchmark compares. Each has its own process and is started in
 * advance; one at a time is under load. They are ended by their ids, with the benchmark.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { ended, owned } from "./children.ts";

const SERVICE = fileURLToPath(new URL("service.ts", import.meta.url));
const CLIENTS = fileURLToPath(new URL("clients.ts", import.meta.url));
const SAME_PRIORITY = ["--import", new URL("same-priority.ts", import.meta.url).href];
const IN_ARRIVAL_ORDER = ["--import", new URL("in-arrival-order.ts", import.meta.url).href];

/** Clients that wait this long after the end of a measure will get no answer. */
const LONGEST_ANSWER_MS = 60_000;

export interface Load {
  readonly clients: number;
  /** One of MIXES, or the path of a file with texts. */
  readonly mix: string;
  /** Uncounted time, so that all clients are active. */
  readonly leadMs: number;
  readonly durationMs: number;
  readonly seed: number;
}

interface ClientFigures {
  /** Texts per second. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answered words per second, in each quarter of a second from the start. */
  readonly wordsPerSlice: readonly number[];
}

/** A service's own report; NaN for figures that it does not report. */
export interface ServiceFigures {
  /** The delay of its event loop, 99th percentile. */
  readonly loopDelayP99Ms: number;
  /** Mean texts and padded tokens per batch. */
  readonly rows: number;
  readonly cost: number;
  /** Processor time per text, HTTP included. */
  readonly cpuMs: number;
}

export type Figures = ClientFigures & ServiceFigures;

/** A service that can be measured: it has our `POST /v1/embeddings`. */
export interface Service {
  readonly name: string;
  readonly port: number;
  /** Figures since the last report. */
  report(): Promise<ServiceFigures>;
  stop(): Promise<void>;
}

export async function measure(service: Service, load: Load): Promise<Figures> {
  await service.report();
  return { ...(await runClients(service.port, load)), ...(await service.report()) };
}

async function runClients(port: number, load: Load): Promise<ClientFigures> {
  const args = [port, load.clients, load.mix, load.leadMs, load.durationMs, load.seed].map(String);
  const timeout = load.leadMs + load.durationMs + LONGEST_ANSWER_MS;
  const child = owned(
    spawn(process.execPath, ["--no-warnings", CLIENTS, ...args], { stdio: ["ignore", "pipe", "inherit"], timeout }),
  );
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`The clients ended with ${code}: ${args.join(" ")}`);
  return JSON.parse(output) as ClientFigures;
}

/** Our server. */
export class OwnService implements Service {
  readonly name: string;
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(name: string, child: ChildProcess, port: number) {
    this.name = name;
    this.port = port;
    this.#child = child;
  }

  static async start(name: string, { samePriority, inArrivalOrder, ...options }: OwnOptions): Promise<OwnService> {
    const imports = [...(samePriority ? SAME_PRIORITY : []), ...(inArrivalOrder ? IN_ARRIVAL_ORDER : [])];
    const execArgv = ["--no-warnings", ...imports];
    const child = owned(fork(SERVICE, [JSON.stringify(options)], { execArgv }));
    const [{ port }] = (await firstMessage(child, name)) as [{ port: number }];
    return new OwnService(name, child, port);
  }

  report(): Promise<ServiceFigures> {
    return this.#send("report");
  }

  /** Sets other limits, from the next batch on. */
  async configure(limits: object): Promise<void> {
    await this.#send(limits);
  }

  async #send(message: object | string): Promise<ServiceFigures> {
    const answer = once(this.#child, "message");
    this.#child.send(message);
    return ((await answer) as [ServiceFigures])[0];
  }

  stop(): Promise<void> {
    return ended(this.#child, () => this.#child.disconnect());
  }
}

/** Options of startService, and options for the ablation. */
export type OwnOptions = Readonly<Record<string, unknown>> & {
  /** True: the model's threads keep the priority of HTTP. */
  readonly samePriority?: boolean;
  /** True: texts of any length share a batch. */
  readonly inArrivalOrder?: boolean;
};

async function firstMessage(child: ChildProcess, name: string): Promise<unknown[]> {
  const died = once(child, "exit").then(([code]) => {
    throw new Error(`The service \`${name}\` ended with ${code} before it listened`);
  });
  return Promise.race([once(child, "message"), died]);
}

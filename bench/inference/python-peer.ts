/**
 * FastAPI with onnxruntime, without batching, as a user would write it by hand. Runs in a virtual
 * environment under .cache, which is created if it is missing. Without Python, or if pip cannot
 * install a package, this peer is left out.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ended, owned } from "./children.ts";
import type { Service, ServiceFigures } from "./services.ts";

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL("../../.cache/inference-python", import.meta.url));
const PYTHON = join(FOLDER, "bin", "python");
const READY = join(FOLDER, "installed");
const SCRIPT = fileURLToPath(new URL("peers/fastapi_service.py", import.meta.url));
const NEEDED = ["fastapi", "uvicorn", "onnxruntime", "numpy"];
/** A faster event loop and parser, which uvicorn uses if they are installed. */
const HELPFUL = ["httptools", "uvloop"];
const INSTALL_MS = 180_000;

/** How the service runs its model: `async def` or `def`, and the number of threads inside a run. */
export interface Variant {
  readonly route: "async" | "pool";
  readonly threads: number;
}

/** Undefined, or why this machine cannot run the peer. */
export async function whyNoPython(): Promise<string | undefined> {
  if (
    await access(READY).then(
      () => true,
      () => false,
    )
  )
    return undefined;
  const install = (packages: readonly string[]): Promise<unknown> =>
    run(PYTHON, ["-m", "pip", "install", "--quiet", "--only-binary", ":all:", ...packages], { timeout: INSTALL_MS });
  try {
    await mkdir(FOLDER, { recursive: true });
    await run("python3", ["-m", "venv", FOLDER], { timeout: INSTALL_MS });
    await install(NEEDED);
  } catch (error) {
    return String(error instanceof Error ? error.message : error).split("\n", 1)[0];
  }
  await install(HELPFUL).catch(() => undefined);
  await writeFile(READY, `${NEEDED.join(" ")}\n`);
  return undefined;
}

export class PythonService implements Service {
  readonly name: string;
  readonly port: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly #child: ChildProcess;

  private constructor(name: string, child: ChildProcess, ready: Pick<PythonService, "port" | "versions">) {
    this.name = name;
    this.port = ready.port;
    this.versions = ready.versions;
    this.#child = child;
  }

  static async start(model: string, vocabulary: number, { route, threads }: Variant): Promise<PythonService> {
    const args = [SCRIPT, model, String(vocabulary), String(threads), route];
    const child = owned(spawn(PYTHON, args, { stdio: ["pipe", "pipe", "inherit"] }));
    const died = once(child, "exit").then(([code]) => {
      throw new Error(`The FastAPI service ended with ${code} before it listened`);
    });
    const [line] = (await Promise.race([once(createInterface(child.stdout), "line"), died])) as [string];
    const name = `FastAPI, ${route === "async" ? "async def" : "def"}, ${threads} ${threads === 1 ? "thread" : "threads"}`;
    return new PythonService(name, child, JSON.parse(line));
  }

  async report(): Promise<ServiceFigures> {
    return { loopDelayP99Ms: Number.NaN, rows: Number.NaN, cost: Number.NaN, cpuMs: Number.NaN };
  }

  stop(): Promise<void> {
    return ended(this.#child, () => this.#child.stdin?.end());
  }
}

/** The largest difference, in any number, between two services' vectors of the same texts. */
export async function difference(one: Service, other: Service, texts: readonly string[]): Promise<number> {
  let largest = 0;
  for (const input of texts) {
    const [left, right] = await Promise.all([vectorOf(one, input), vectorOf(other, input)]);
    for (const [at, value] of left.entries()) largest = Math.max(largest, Math.abs(value - (right[at] ?? Number.NaN)));
    if (left.length !== right.length) return Number.NaN;
  }
  return largest;
}

async function vectorOf({ port }: Service, input: string): Promise<readonly number[]> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/embeddings`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "batchwise-bench", input }),
  });
  const answer = (await response.json()) as { readonly data: readonly { readonly embedding: number[] }[] };
  return answer.data[0]?.embedding ?? [];
}

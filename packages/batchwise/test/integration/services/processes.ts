// What both servers need: programs on this machine, free ports, and a process that is stopped by its id.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, globSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";

/** A server that the tests have started. */
export interface Service {
  readonly port: number;
  /** Stops it, by its process id, and removes its folder. */
  stop(): Promise<void>;
}

/** The first of these programs that can be run; in the folders of PATH where it is a bare name. Globs are allowed. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const path = (process.env.PATH ?? "").split(delimiter);
  const candidates = [...path, "/usr/local/bin", "/usr/bin"].map((folder) => join(folder, name));
  const globbed = folders.flatMap((folder) => globSync(join(folder, name)));
  return [...globbed, ...candidates].find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

const POLICY = "/usr/sbin/policy-rc.d";

/** Installs Debian packages, whose services are not started; throws, with what to do, where that is not possible. */
export function install(packages: readonly string[], what: string): void {
  const wish = `The tests need ${what}: install it (Debian: ${packages.join(" ")}) and run them again.`;
  const apt = findProgram("apt-get");
  if (apt === undefined || !isRoot()) throw new Error(wish);
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const run = (...args: string[]): void => {
    execFileSync(apt, args, { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  };
  // What a package's script asks before it starts a service: 101 says no.
  const isOurs = findProgram("policy-rc.d", ["/usr/sbin"]) === undefined;
  if (isOurs) writeFileSync(POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    run("update", "-qq");
    run("install", "-y", "-qq", "--no-install-recommends", ...packages);
  } catch (cause) {
    throw new Error(wish, { cause });
  } finally {
    if (isOurs) rmSync(POLICY, { force: true });
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("Expected a port");
  return address.port;
}

/** A started program; what it said is in the error when it ends before it is `ready`. */
export async function startProgram(
  command: readonly string[],
  cwd: string,
  ready: () => Promise<boolean>,
): Promise<ChildProcess> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => {
      said = `${said}${text}`.slice(-4_000);
    });
  }
  for (const until = performance.now() + 30_000; ; ) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > until) {
      child.kill("SIGKILL");
      throw new Error(`${program} did not start: ${said}`);
    }
    if (await ready().catch(() => false)) return child;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function stopProgram(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "close");
  child.kill(signal);
  await ended;
}

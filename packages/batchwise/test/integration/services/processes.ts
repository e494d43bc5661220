// Shared by the servers: free ports, and a process that is stopped by its id.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

/** A server that the tests have started. */
export interface Service {
  readonly port: number;
  /** Stops it, by its process id, and removes its folder. */
  stop(): Promise<void>;
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

/** Starts a program. If it ends before it is `ready`, the error contains its output. */
export async function startProgram(
  command: readonly string[],
  cwd: string,
  ready: () => Promise<boolean>,
): Promise<ChildProcess> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.on("error", (error) => {
    said = error.message;
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => {
      said = `${said}${text}`.slice(-4_000);
    });
  }
  for (const until = performance.now() + 30_000; ; ) {
    if (hasEnded(child) || performance.now() > until) {
      child.kill("SIGKILL");
      throw new Error(`${program} did not start: ${said}`);
    }
    if (await ready().catch(() => false)) return child;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function stopProgram(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, "close");
  child.kill(signal);
  // A process that a test has paused receives no other signal.
  child.kill("SIGCONT");
  await ended;
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

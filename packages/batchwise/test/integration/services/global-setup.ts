// Runs once before the integration tests: starts the keeper of their servers, which itself starts none before it is asked.
// The keeper lives in a process group of its own, so that Ctrl-C does not end it before it has ended the servers.

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    keeperPort: number;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const script = new URL("keeper.ts", import.meta.url).pathname;
  const keeper = spawn(process.execPath, ["--no-warnings", script], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(keeper, "exit");
  const said = await Promise.race([once(keeper.stdout, "data"), ended.then(() => null)]);
  if (said === null) throw new Error("The keeper of the tests' servers did not start.");
  project.provide("keeperPort", Number(said));
  return async () => {
    keeper.stdin.end();
    await ended;
  };
}

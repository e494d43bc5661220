// Runs once before the integration tests: starts the keeper of their servers, which starts servers
// on request.

import type { TestProject } from "vitest/node";
import { startKeeper } from "./keeper-client.ts";

declare module "vitest" {
  interface ProvidedContext {
    keeperPort: number;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const keeper = await startKeeper();
  project.provide("keeperPort", keeper.port);
  return () => keeper.stop();
}

// What a job uses of its dispatcher.

import type { Enqueuer } from "../intake/enqueuer.ts";
import type { OutcomeReader } from "../outcomes/outcome-reader.ts";
import type { Runtime } from "../runtime/runtime.ts";

export interface DispatcherParts {
  readonly runtime: Runtime;
  readonly enqueuer: Enqueuer;
  readonly reader: OutcomeReader;
}

export interface JobDispatcher {
  readonly parts: DispatcherParts;
  start(): Promise<void>;
  stop(): Promise<void>;
  flush(): void;
}

// The parsed options of `batchwise run`.

import type { AccountFlags, StoreFlags } from "../common/arguments.ts";
import type { Price } from "./run-figures.ts";

export interface RunFlags extends StoreFlags, AccountFlags {
  readonly output?: string;
  readonly job?: string;
  readonly model?: string;
  readonly onChange: "refuse" | "keep";
  readonly format: "openai" | "full";
  readonly price?: Price;
  readonly maxRequests?: number;
  readonly leaseMs?: number;
  readonly fileMode?: number;
  readonly force?: true;
}

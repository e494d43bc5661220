// What a batcher can do besides taking items in their order: packing by length, and keeping a
// latency target. The core knows both by interfaces only.

import type { Extensions } from "../core/policy/target-rule.ts";
import { paddedPacker } from "../padded/padded-packer.ts";
import { latencyTarget } from "../target/latency-target.ts";

export const extensions: Extensions = { makePacker: paddedPacker, makeTarget: latencyTarget };

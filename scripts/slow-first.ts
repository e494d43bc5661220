// The order in which vitest starts test files: slowest first, so that none of them runs on when all
// others are done. vitest itself orders by file size, or by an earlier run if it remembers one.

import { BaseSequencer, type TestSpecification } from "vitest/node";
import { slow } from "./test-files.ts";

function placeOf({ moduleId }: TestSpecification): number {
  const place = slow.findIndex((file) => moduleId.endsWith(`/${file}`));
  return place === -1 ? slow.length : place;
}

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

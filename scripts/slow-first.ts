// The order in which vitest starts test files: those that take longest first, so that none of them
// is still running when all others are done. vitest itself orders by size of the file, or by an
// earlier run where it remembers one.

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

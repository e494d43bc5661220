// Shared by the two measuring programs: submits all lines at once, with the given options, to a new
// recogniser.

import type { Tensor } from "batchwise/tensor";
import type { ReadText } from "./decode.ts";
import { type LineOptions, Recogniser } from "./recogniser.ts";

/** Batches of up to 16, whether that is faster or not. */
export const FULL: LineOptions = { maxBatchSize: 16, maxBatchCost: Number.POSITIVE_INFINITY };
export const ALONE: LineOptions = { maxBatchSize: 1 };

export interface Case {
  readonly name: string;
  /** 32: the picture is scaled to a multiple of 32 pixels. 1: it keeps its aspect ratio. */
  readonly widthStep: number;
  readonly options: LineOptions;
}

export interface Run {
  readonly read: readonly ReadText[];
  readonly averageBatchSize: number;
  readonly padding: number;
  readonly perSecond: number;
  /** Over all threads of this process. Other processes affect it less than `perSecond`. */
  readonly cpuMsPerLine: number;
}

/** Reads all pictures at once. */
export async function run({ options }: Case, pictures: readonly Tensor<"float32">[]): Promise<Run> {
  await using recogniser = await Recogniser.open(options);
  await Promise.all(pictures.slice(0, 4).map((picture) => recogniser.read(picture)));
  recogniser.batcher.resetStats();
  const began = performance.now();
  const before = process.cpuUsage();
  const read = await Promise.all(pictures.map((picture) => recogniser.read(picture)));
  const { user, system } = process.cpuUsage(before);
  const cpuMsPerLine = (user + system) / 1000 / pictures.length;
  const perSecond = (pictures.length / (performance.now() - began)) * 1000;
  const { batches, averageBatchSize, averageBatchCost } = recogniser.batcher.stats();
  const elements = pictures.reduce((sum, { data }) => sum + data.length, 0);
  return { read, averageBatchSize, padding: 1 - elements / (batches * averageBatchCost), perSecond, cpuMsPerLine };
}

// What the two measuring programs share: lines read all at once, under given options, by a
// recogniser of their own.

import type { Tensor } from "batchwise/tensor";
import type { ReadText } from "./decode.ts";
import { type LineOptions, Recogniser } from "./recogniser.ts";

/** Batches of up to 16, whether that pays or not. */
export const FULL: LineOptions = { maxBatchSize: 16, maxBatchCost: Number.POSITIVE_INFINITY };
export const ALONE: LineOptions = { maxBatchSize: 1 };

export interface Case {
  readonly name: string;
  /** 32: the picture is stretched to a multiple of 32 pixels. 1: it keeps its aspect. */
  readonly widthStep: number;
  readonly options: LineOptions;
}

export interface Run {
  readonly read: readonly ReadText[];
  readonly averageBatchSize: number;
  readonly padding: number;
  readonly perSecond: number;
  /** Of all threads of this process. Other processes disturb it less than they do `perSecond`. */
  readonly cpuMsPerLine: number;
}

/** Reads the pictures all at once. */
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

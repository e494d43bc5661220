// Draws lines of text as PNG pictures: three typefaces, sizes from 14 to 60 pixels, dark on light
// and light on dark. The fonts come from npm packages, so that every machine draws the same
// pictures.

import { createRequire } from "node:module";
import { createCanvas, GlobalFonts } from "@napi-rs/canvas";

const require = createRequire(import.meta.url);
const FACES: Readonly<Record<string, string>> = {
  "Example Sans": require.resolve("@fontsource/roboto/files/roboto-latin-400-normal.woff2"),
  "Example Serif": require.resolve("@fontsource/lora/files/lora-latin-400-normal.woff2"),
  "Example Mono": require.resolve("@fontsource/dejavu-mono/files/dejavu-mono-latin-400-normal.woff2"),
};
const INKS = [
  { paper: "#ffffff", ink: "#000000" },
  { paper: "#f4ecd8", ink: "#30261a" },
  { paper: "#1d2433", ink: "#f0f0f0" },
];
const WORDS =
  "batch tensor invoice total amount Monday delivery street number account please return before signed received " +
  "Paris market quality window north river history letter machine answer question memory signal length width";

export interface DrawnLine {
  readonly text: string;
  readonly png: Uint8Array;
}

/** `count` lines of 1 to 9 words, the same for each `seed`. */
export async function drawLines(count: number, seed = 1): Promise<DrawnLine[]> {
  for (const [name, file] of Object.entries(FACES)) {
    if (!GlobalFonts.has(name)) GlobalFonts.registerFromPath(file, name);
  }
  const random = randomFrom(seed);
  return Promise.all(Array.from({ length: count }, () => draw(textFrom(random), random)));
}

async function draw(text: string, random: () => number): Promise<DrawnLine> {
  const { paper, ink } = pick(INKS, random);
  const font = `${14 + Math.floor(random() * 47)}px "${pick(Object.keys(FACES), random)}"`;
  const ruler = createCanvas(1, 1).getContext("2d");
  ruler.font = font;
  const { width, fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } = ruler.measureText(text);
  const margin = 2 + Math.floor(random() * 6);
  const canvas = createCanvas(Math.ceil(width) + 2 * margin, Math.ceil(ascent + descent) + 2);
  const context = canvas.getContext("2d");
  context.fillStyle = paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = ink;
  context.font = font;
  context.fillText(text, margin, ascent + 1);
  return { text, png: await canvas.encode("png") };
}

function textFrom(random: () => number): string {
  const words = WORDS.split(" ");
  const count = 1 + Math.floor(random() ** 2 * 9);
  return Array.from({ length: count }, () =>
    random() < 0.2 ? `${Math.floor(random() * 10_000)}` : pick(words, random),
  ).join(" ");
}

function pick<Value>(values: readonly Value[], random: () => number): Value {
  return values[Math.floor(random() * values.length)] as Value;
}

/** A small generator of numbers from 0 to 1 (mulberry32), so that each run draws the same lines. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

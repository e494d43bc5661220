/** Embedders that are closed after each test. */

import { afterEach } from "vitest";
import { Embedder, type EmbedderOptions } from "../../src/models/embedder.ts";

const opened: Embedder[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((embedder) => embedder.close()));
});

export async function openEmbedder(options: EmbedderOptions): Promise<Embedder> {
  const embedder = await Embedder.open({ workers: 1, ...options });
  opened.push(embedder);
  return embedder;
}

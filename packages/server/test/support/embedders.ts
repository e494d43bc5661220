/** Embedders that are closed after each test. */

import { afterEachTest } from "../../../../scripts/after-tests.ts";
import { Embedder, type EmbedderOptions } from "../../src/models/embedder.ts";

const opened: Embedder[] = [];

afterEachTest(async () => {
  await Promise.all(opened.splice(0).map((embedder) => embedder.close()));
});

export async function openEmbedder(options: EmbedderOptions): Promise<Embedder> {
  const embedder = await Embedder.open({ workers: 1, ...options });
  opened.push(embedder);
  return embedder;
}

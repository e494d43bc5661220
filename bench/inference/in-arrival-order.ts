/**
 * For `--import`: texts travel in order of arrival, as they did before the server chose by length. Nobody should want
 * that, so there is no option for it: the one line of the library that says so is changed while it is loaded.
 */
import { registerHooks } from "node:module";

const FILE = "/onnx/text/text-embedder.";
const BY_LENGTH = 'order: "length"';
const IN_ORDER = 'order: "fifo", batchCost: "padded"';

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.includes(FILE)) return loaded;
    const source = String(loaded.source);
    if (!source.includes(BY_LENGTH)) throw new Error(`Expected ${url} to say ${BY_LENGTH}`);
    return { ...loaded, source: source.replace(BY_LENGTH, IN_ORDER) };
  },
});

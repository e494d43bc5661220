/**
 * For `--import`: batches texts in order of arrival, as before the server ordered them by length.
 * There is no such option, so this changes the built library while it is loaded. A service that is
 * not changed would give a wrong measure, so it is kept from listening.
 */
import { registerHooks } from "node:module";
import { Server } from "node:net";

const FILE = "/onnx/index.impl.";
const BY_LENGTH = /order:\s*["'`]length["'`]/g;
const IN_ORDER = 'order:"fifo",batchCost:"padded"';

let isChanged = false;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.includes(FILE)) return loaded;
    const source = String(loaded.source);
    const changed = source.replace(BY_LENGTH, IN_ORDER);
    if (changed === source) throw new Error(`Expected ${url} to say ${BY_LENGTH}`);
    isChanged = true;
    return { ...loaded, source: changed };
  },
});

const { listen } = Server.prototype;
Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
  if (!isChanged) throw new Error(`Expected a file ${FILE}* to be loaded, which says ${BY_LENGTH}`);
  return Reflect.apply(listen, this, args);
};
